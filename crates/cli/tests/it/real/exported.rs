//! A session that was exported in the CLI's own format goes on in the real CLI.

use std::fs;

use lapidary_standin::api::{RequestKind, Script};
use lapidary_testkit::captures;
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use serde_json::Value;

use super::world::Real;
use crate::support::{lapidary, started};

/// The contents of the model's request after the CLI imported the file and got a prompt.
fn told_of(file: &std::path::Path) -> Value {
    let real = Real::new(V0_61_0, Script::new().stream("So be it."));
    let mut command = real.world.command(V0_61_0, &real.api.base_url());
    command.args([
        "-m",
        "gemini-2.5-flash",
        "-p",
        "And the rest?",
        "--session-file",
    ]);
    let ran = command.arg(file).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let requests = real.api.requests();
    let asked = requests
        .iter()
        .find(|request| request.kind == RequestKind::Stream);
    asked.unwrap().body["contents"].clone()
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_real_cli_goes_on_with_what_was_exported() {
    let folder = tempfile::tempdir().unwrap();
    for (name, words) in [
        (
            "gemini-0.61.0/sessions/tool-glob-grep.session-2026-11-15T18-16-1e383b58.jsonl",
            &["find", "Found.", "~/project", "functionCall"][..],
        ),
        (
            "gemini-0.24.0/sessions/session-2026-11-15T18-37-a1dee2e0.json",
            &["functionCall"],
        ),
    ] {
        let source = captures::named(name).path;
        let exported = folder.path().join("exported.jsonl");
        let mut command = lapidary([
            "sessions", "export", "--to", "session", "--redact", "--force",
        ]);
        command.arg("-o").arg(&exported).arg(&source);
        let ran = started(command, b"");
        assert!(ran.status.success(), "{ran:?}");
        let contents = told_of(&exported);
        let told = contents.to_string();
        for word in words {
            assert!(told.contains(word), "{name}: {word} is not in {contents:#}");
        }
        let last = contents.as_array().unwrap().last().unwrap();
        assert!(last.to_string().contains("And the rest?"), "{contents:#}");
        assert!(!told.contains("/home/user"), "{contents:#}");
        // The request has every message of the model in the exported file.
        for line in fs::read_to_string(&exported).unwrap().lines().skip(1) {
            let message: Value = serde_json::from_str(line).unwrap();
            if message["type"] == "gemini" {
                let said = message["content"].as_str().unwrap_or_default();
                assert!(told.contains(said), "{said}");
            }
        }
    }
}
