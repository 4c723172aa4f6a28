//! The page in a real browser.

use std::process::Command;

use lapidary_testkit::attacks::ATTACKS;
use lapidary_testkit::gemini::peers;
use lapidary_testkit::recorded::RecordedHome;

use super::http::TestServer;

const HOSTILE: &str = "aaaaaaaa-0000-4000-8000-00000000000e";

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a browser: `cargo xtask test` installs it"
)]
fn people_start_watch_answer_and_read_runs_on_the_page() {
    let home = RecordedHome::new();
    let says: Vec<_> = ["where is the lighthouse?"]
        .into_iter()
        .chain(ATTACKS)
        .collect();
    home.session(HOSTILE, "2026-01-05T10:00:00.000Z", &says);
    let server = TestServer::start_in_home(&home.home(), &home.project());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/serve/browser.mjs");
    let url = format!("http://{}", server.host);
    let used = Command::new("node")
        .arg(script)
        .args([url.as_str(), &server.token, HOSTILE])
        .current_dir(peers().with_file_name("peers-browser"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&used.stderr);
    assert!(used.status.success(), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&used.stdout), "the page works\n");
}
