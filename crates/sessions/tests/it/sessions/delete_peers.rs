//! The real Gemini CLI removes the same, where it is right.

use std::collections::BTreeSet;

use lapidary_testkit::gemini::GeminiVersion;
use lapidary_testkit::recorded::RecordedHome;

use super::delete;
use super::real::gemini;

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TWO: &str = "bbbbbbbb-0000-4000-8000-000000000002";

/// Two sessions with everything that a session can have, and some things that look alike.
fn home() -> RecordedHome {
    let home = RecordedHome::new();
    home.session(ONE, "2026-01-02T10:00:00.000Z", &["first"]);
    home.session(TWO, "2026-01-02T10:05:00.000Z", &["second"]);
    for id in [ONE, TWO, "agent-1", "agent-2", "nobody"] {
        home.put(&format!("tmp/project/logs/session-{id}.jsonl"), "{}\n");
        home.put(
            &format!("tmp/project/tool-outputs/session-{id}/a/b.txt"),
            "out",
        );
        home.put(&format!("tmp/project/{id}/plans/plan.md"), "plan");
    }
    home.chat(&format!("{ONE}/agent-1.jsonl"), "{}\n");
    home.chat(&format!("{ONE}/notes.txt"), "no session");
    home.chat(&format!("{TWO}/agent-2.json"), "{}\n");
    home
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_removes_what_we_remove() {
    for named in ["1", "2", ONE, TWO] {
        let (ours, theirs) = (home(), home());
        let before: BTreeSet<_> = ours.tree().into_keys().collect();
        delete(&ours, named).unwrap();
        let told = gemini(
            &theirs,
            GeminiVersion::V0_61_0,
            &["--delete-session", named],
        );
        assert!(
            told.stdout.contains("Deleted session") || told.stderr.contains("Deleted session"),
            "{told:?}"
        );
        let left = |home: &RecordedHome| -> BTreeSet<_> {
            let left = home.tree().into_keys();
            left.filter(|name| before.contains(name)).collect()
        };
        assert_eq!(left(&ours), left(&theirs), "{named}");
        assert!(left(&ours).len() < before.len());
    }
}
