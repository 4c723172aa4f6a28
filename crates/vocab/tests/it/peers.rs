//! The TypeScript types under the real compiler.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::Serialize;
use serde_json::json;

use crate::samples;

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn typescript_accepts_our_samples_and_narrows_every_union() {
    let output = type_check("accepted", &samples_module());
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{report}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn typescript_refuses_a_sample_that_is_wrong() {
    let wrong = samples_module().replacen("\"callId\"", "\"callID\"", 1);
    let output = type_check("refused", &wrong);
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.status.success(), "the check sees nothing");
    assert!(report.contains("callID"), "{report}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn no_type_has_the_name_of_one_in_a_browser() {
    let library = peers().join("node_modules/typescript/lib/lib.dom.d.ts");
    let library = fs::read_to_string(library).unwrap();
    let declared = library.lines().filter_map(|line| {
        let starts = ["interface ", "declare var ", "type "];
        let rest = starts.iter().find_map(|start| line.strip_prefix(start))?;
        rest.split(|c: char| !c.is_alphanumeric()).next()
    });
    let declared: std::collections::BTreeSet<_> = declared.collect();
    assert!(declared.contains("TextEvent"), "the library is read");
    let types = lapidary_vocab::schema::TYPESCRIPT;
    let exported = types
        .lines()
        .filter_map(|line| line.strip_prefix("export ")?.split(' ').nth(1));
    let shadowing: Vec<_> = exported.filter(|name| declared.contains(name)).collect();
    assert!(shadowing.is_empty(), "{shadowing:?}");
}

/// Runs `tsc --strict --noEmit` on our types, on `uses.ts` and on a module of samples.
fn type_check(name: &str, samples: &str) -> Output {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let types = package.join("../../schemas/lapidary.d.ts");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("typescript-{name}"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("samples.ts"), samples).unwrap();
    let project = json!({
        "compilerOptions": {
            "strict": true, "noEmit": true, "exactOptionalPropertyTypes": true, "skipLibCheck": false,
            "target": "es2022", "module": "esnext", "moduleResolution": "bundler", "types": [],
            "paths": { "lapidary": [types] },
        },
        "files": [types, package.join("tests/peers/uses.ts"), folder.join("samples.ts")],
    });
    fs::write(folder.join("tsconfig.json"), project.to_string()).unwrap();
    Command::new("node")
        .arg(peers().join("node_modules/typescript/bin/tsc"))
        .arg("--project")
        .arg(folder.join("tsconfig.json"))
        .output()
        .expect("node starts")
}

/// Where `cargo xtask test` installed the peers. Without them this fails: nothing passes for want of a peer.
fn peers() -> PathBuf {
    let folder = std::env::var_os("LAPIDARY_PEERS");
    folder
        .expect("LAPIDARY_PEERS is set: run `cargo xtask test`")
        .into()
}

/// The samples as TypeScript, one constant per published type.
fn samples_module() -> String {
    let mut module =
        "import type { Capabilities, Checkup, Command, AgentEvent, Message, RunResult, RuntimeEvent } from \"lapidary\";\n"
            .to_owned();
    declare(&mut module, "events: AgentEvent[]", &samples::events());
    declare(&mut module, "messages: Message[]", &samples::messages());
    declare(
        &mut module,
        "runtime: RuntimeEvent[]",
        &samples::runtime_events(),
    );
    declare(&mut module, "result: RunResult", &samples::result());
    declare(&mut module, "commands: Command[]", &samples::commands());
    declare(
        &mut module,
        "capabilities: Capabilities",
        &samples::capabilities(),
    );
    declare(&mut module, "checkup: Checkup", &samples::checkup());
    module
}

fn declare(module: &mut String, name: &str, value: &impl Serialize) {
    let literal = serde_json::to_string_pretty(value).unwrap();
    writeln!(module, "export const {name} = {literal};").unwrap();
}
