//! A person at a terminal answers the real CLI.

use std::fs;

use lapidary_standin::api::{Script, Turn};
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use serde_json::{Value, json};

use super::world::Real;
use crate::run::asking::answered_on_a_terminal;
use crate::support::{lapidary, output};

fn recorded_events(real: &Real) -> Vec<Value> {
    let entries = fs::read_dir(real.path("state/runs")).unwrap();
    let mut recordings = entries.map(|entry| entry.unwrap().path());
    let recording = recordings.find(|path| path.join("run.json").is_file());
    let mut command = lapidary(["translate", "--format", "events"]);
    command.arg(recording.unwrap());
    let translated = String::from_utf8(output(command, b"").stdout).unwrap();
    let lines = translated.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_person_at_a_terminal_is_asked_by_gemini_cli_without_naming_a_transport() {
    let write = |name| {
        let args = json!({"file_path": name, "content": "x\n"});
        Turn::call("write_file", args)
    };
    let script = Script::new()
        .stream(write("yes.txt"))
        .stream(write("no.txt"));
    let real = Real::new(V0_61_0, script.stream("Done."));
    let seen = answered_on_a_terminal(&real.lapidary(&["write two files"]), "y|not that one");
    real.assert_nothing_is_left();
    let exists = |name| real.world.project().join(name).exists();
    assert_eq!(
        (exists("yes.txt"), exists("no.txt")),
        (true, false),
        "{seen}"
    );
    let events = recorded_events(&real);
    let decisions = events
        .iter()
        .filter(|it| it["event"] == "permission_decision" && it["toolName"] == "write_file");
    let decisions: Vec<_> = decisions
        .map(|it| (it["decision"].clone(), it["decidedBy"].clone()))
        .collect();
    let user = json!("user");
    let expected = [(json!("allowed"), user.clone()), (json!("denied"), user)];
    assert_eq!(decisions, expected, "{seen}");
}
