//! `sessions list`: the session that the command was called in.

use lapidary_testkit::recorded::RecordedHome;

use super::{command, object, sessions};
use crate::support::{Ran, output};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const OTHER: &str = "bbbbbbbb-0000-4000-8000-000000000002";

#[test]
fn inside_a_hook_its_own_session_is_marked() {
    let home = RecordedHome::new();
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
    assert_eq!(marks, ["   2*", "   1 "]);
    let elsewhere = object(&sessions(&home, &["list"]), "sessions");
    assert_eq!(elsewhere["sessions"][1]["isCurrentSession"], false);
}

/// The session with the latest message comes first, and the numbers stay Gemini CLI's. JSON is in the order of the numbers.
#[test]
fn the_newest_session_comes_first_and_the_time_can_be_narrowed() {
    let home = RecordedHome::new();
    home.session(ONE, "2026-01-01T10:00:00.000Z", &["oldest"]);
    home.session(OTHER, "2026-01-02T10:00:00.000Z", &["middle"]);
    let today = jiff::Timestamp::now().to_string();
    home.session("newest", &today, &["newest"]);
    let text = |args: &[&str]| {
        let args = [&["list", "--format", "text"], args].concat();
        let ran = sessions(&home, &args);
        let lines = ran.stdout.lines();
        let titles = lines.map(|line| line.rsplit(' ').next().unwrap().to_owned());
        (titles.collect::<Vec<_>>(), ran.stderr)
    };
    assert_eq!(text(&[]).0, ["newest", "middle", "oldest"]);
    assert_eq!(text(&["--last", "2"]).0, ["newest", "middle"]);
    assert_eq!(text(&["--since", "yesterday"]).0, ["newest"]);
    assert_eq!(text(&["--since", "2026-01-02"]).0, ["newest", "middle"]);
    assert_eq!(text(&["--until", "2026-01-01"]).0, ["oldest"]);
    let (titles, said) = text(&["--since", "2026-01-05", "--until", "2026-01-06"]);
    assert_eq!(titles, [] as [&str; 0]);
    assert!(said.contains("no session is of that time"), "{said}");
    let wrong = sessions(&home, &["list", "--since", "next week"]);
    assert_eq!(wrong.code, Some(2));
    let said = "invalid time `next week`: use a date (`2026-11-01`), an age (`7d`) or `yesterday`";
    assert!(wrong.stderr.contains(said), "{}", wrong.stderr);
    let list = object(&sessions(&home, &["list"]), "sessions");
    let numbers = [0, 1, 2].map(|at| list["sessions"][at]["index"].clone());
    assert_eq!(numbers, [1, 2, 3]);
}
