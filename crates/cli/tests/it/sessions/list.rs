//! `sessions list`: the session that the command was called in.

use lapidary_testkit::recorded::Recorded;

use super::{command, object, sessions};
use crate::support::{Ran, output};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const OTHER: &str = "bbbbbbbb-0000-4000-8000-000000000002";

#[test]
fn inside_a_hook_its_own_session_is_marked() {
    let home = Recorded::new();
    home.session(ONE, "2026-01-01T10:00:00.000Z", &["one"]);
    home.session(OTHER, "2026-01-02T10:00:00.000Z", &["other"]);
    let listed = |args: &[&str]| {
        let mut list = command(&home, args);
        list.env("GEMINI_SESSION_ID", OTHER);
        let ran = output(list, b"");
        Ran {
            code: ran.status.code(),
            stdout: String::from_utf8(ran.stdout).unwrap(),
            stderr: String::from_utf8(ran.stderr).unwrap(),
        }
    };
    let list = object(&listed(&["list"]), "sessions");
    let current = [0, 1].map(|place| list["sessions"][place]["isCurrentSession"] == true);
    assert_eq!(current, [false, true]);
    let text = listed(&["list", "--format", "text"]).stdout;
    let marks: Vec<_> = text.lines().map(|line| &line[..5]).collect();
    assert_eq!(marks, ["   1 ", "   2*"]);
    let elsewhere = object(&sessions(&home, &["list"]), "sessions");
    assert_eq!(elsewhere["sessions"][1]["isCurrentSession"], false);
}
