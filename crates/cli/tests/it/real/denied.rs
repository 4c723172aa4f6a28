//! Actions that the real CLI is not allowed to take, over both transports.

use lapidary_standin::api::{Script, Turn};
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use serde_json::{Value, json};

use super::world::Real;
use crate::run::world::Told;

/// The model calls these tools one after the other, and says that it is done.
fn real(calls: &[(&str, Value)]) -> Real {
    let turns = calls
        .iter()
        .map(|(name, args)| Turn::call(*name, args.clone()));
    let script = turns.fold(Script::new(), Script::stream).stream("Done.");
    Real::new(V0_61_0, script)
}

fn denials(told: &Told) -> Vec<Value> {
    let turn = told.events.iter().find(|it| it["event"] == "turn_complete");
    let denials = turn.unwrap()["permissionDenials"].as_array();
    denials.cloned().unwrap_or_default()
}

const TRANSPORTS: [&str; 2] = ["stream-json", "acp"];

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_run_whose_every_write_is_denied_is_refused_over_both_transports() {
    for transport in TRANSPORTS {
        let real = real(&[
            (
                "write_file",
                json!({"file_path": "new.txt", "content": "x"}),
            ),
            ("run_shell_command", json!({"command": "touch made"})),
        ]);
        let told = real.run(&["--transport", transport, "write it"]);
        assert_eq!(told.verdict(), ("permission_denied", Some(18)), "{told:?}");
        assert_eq!(told.end()["outcome"], "refused");
        assert_eq!(told.end()["exitCode"], 18);
        let denied = denials(&told);
        let tools: Vec<_> = denied.iter().map(|it| it["toolName"].clone()).collect();
        assert_eq!(tools, ["write_file", "run_shell_command"], "{transport}");
        assert!(denied.iter().all(|it| it["unattended"] == true));
        assert_eq!(denied[1]["toolInput"]["command"], "touch made");
        assert!(!real.world.project().join("new.txt").exists());
        assert!(
            told.stderr
                .contains("2 calls were denied because no person could be asked"),
            "{}",
            told.stderr
        );
        assert!(told.stderr.contains("--allow 'edit"), "{}", told.stderr);
    }
}

/// The README's example for CI: the edit is made, and the command that would test it is denied.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn work_besides_a_denied_call_keeps_the_outcome_and_the_denial_is_reported() {
    for transport in TRANSPORTS {
        let calls = [
            (
                "write_file",
                json!({"file_path": "sum.js", "content": "x\n"}),
            ),
            ("run_shell_command", json!({"command": "node test.js"})),
        ];
        let flags = [
            "--transport",
            transport,
            "--permission-mode",
            "acceptEdits",
            "fix the failing test",
        ];
        let real = real(&calls);
        let told = real.run(&flags);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
        assert_eq!(denials(&told).len(), 1);
        let warning = "warning: 1 call was denied because no person could be asked: `run_shell_command node test.js`; `--allow 'execute:node test.js'` would allow it";
        assert!(told.stderr.contains(warning), "{}", told.stderr);
        // `talk::denied` has the same case over ACP, where the reported denial decides the outcome.
        if transport == "stream-json" {
            let told = self::real(&calls).run(&[&["--on-denied", "fail"], &flags[..]].concat());
            assert_eq!(told.verdict(), ("permission_denied", Some(18)), "{told:?}");
        }
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn what_plan_mode_denies_is_what_was_asked_for() {
    for transport in TRANSPORTS {
        let real = real(&[
            ("run_shell_command", json!({"command": "touch made"})),
            (
                "write_file",
                json!({"file_path": "new.txt", "content": "x"}),
            ),
        ]);
        let told = real.run(&[
            "--transport",
            transport,
            "--permission-mode",
            "plan",
            "plan it",
        ]);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
        assert!(!real.world.project().join("made").exists());
        let denied = denials(&told);
        let tools: Vec<_> = denied.iter().map(|it| it["toolName"].clone()).collect();
        // Over ACP the CLI (0.61) does not report a call that plan mode leaves out. A call that its policy denies it reports over
        // both transports.
        match transport {
            "acp" => assert_eq!(tools, ["write_file"]),
            _ => assert_eq!(tools, ["run_shell_command", "write_file"]),
        }
        assert!(
            denied.iter().all(|it| it["unattended"] == false),
            "{told:?}"
        );
        let reason = denied[denied.len() - 1]["reason"].as_str().unwrap();
        assert!(reason.contains("denied by policy"), "{reason}");
    }
}
