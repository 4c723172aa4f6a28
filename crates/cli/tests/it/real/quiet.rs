//! Runs in a fresh home: the vault prints nothing, and leaves no more files than the CLI does without it.

use std::path::Path;

use lapidary_standin::api::Script;
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;

use super::world::Real;

/// Three, or ten where everything is tested: a start of the CLI costs a second.
const RUNS: usize = if cfg!(feature = "full") { 10 } else { 3 };

const TRANSPORTS: [&str; 2] = ["acp", "stream-json"];

/// Runs in a home of its own; returns how many files there are in the CLI's directories after that.
fn files_after_runs(options: &[&str]) -> usize {
    let script = (0..RUNS).fold(Script::new(), |script, _| script.stream("Hello."));
    let real = Real::new(V0_61_0, script);
    for (number, transport) in TRANSPORTS.iter().cycle().take(RUNS).enumerate() {
        let told = real.run(&[options, &["--transport", transport, "hi"]].concat());
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
        assert_eq!(told.stderr, "", "run {number} over {transport}");
        let notices = told.events.iter().filter(|it| it["kind"] == "notice");
        assert_eq!(
            notices.count(),
            0,
            "run {number} over {transport}: {told:?}"
        );
    }
    count(&real.world.home().join(".gemini/tmp"))
}

fn count(folder: &Path) -> usize {
    let entries = folder.read_dir().unwrap().map(Result::unwrap);
    let counts = entries.map(|entry| {
        let path = entry.path();
        if path.is_dir() { count(&path) } else { 1 }
    });
    counts.sum()
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn runs_in_a_fresh_home_print_nothing_and_leave_what_the_cli_leaves() {
    let alone = files_after_runs(&["--no-vault"]);
    let ours = files_after_runs(&[]);
    assert!(ours <= alone, "{ours} files, and {alone} without the vault");
}
