//! Options that people know from other tools.

use std::fs;

use super::world::{Told, World};
use crate::support::output;

const TWO_MESSAGES: &str = "init; user; say one; call c1 read_file; answer c1 x; say two; success";

fn ran(world: &World, args: &[&str]) -> (Option<i32>, String, String) {
    let ran = output(world.lapidary(args), b"");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

#[test]
fn quiet_prints_the_last_message_and_nothing_else() {
    let world = World::with_agent(TWO_MESSAGES);
    let quiet = ran(&world, &["exec", "-q", "--timeout", "5m", "-p", "go"]);
    assert_eq!(quiet, (Some(0), "two\n".to_owned(), String::new()));
}

#[test]
fn the_last_message_goes_to_a_file_whole_and_only_if_there_is_one() {
    let world = World::with_agent(TWO_MESSAGES);
    let answer = world.path("project/answer.txt");
    let args = ["run", "-q", "-o", "answer.txt", "go"];
    assert_eq!(ran(&world, &args).0, Some(0));
    assert_eq!(fs::read_to_string(&answer).unwrap(), "two\n");
    world.agent("init; say half; exit 3");
    let (code, stdout, stderr) = ran(&world, &args);
    assert_eq!((code, stdout.as_str()), (Some(15), ""), "{stderr}");
    assert!(!answer.exists(), "half an answer, or an old one, is none");
    assert!(stderr.starts_with("error: "), "{stderr}");
    let project = fs::read_dir(world.path("project")).unwrap();
    assert_eq!(project.count(), 0, "and nothing lies beside it");
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_agent_starts() {
    let world = World::with_agent("touch ../started");
    for (file, code, words) in [
        ("json", 2, "`-o` takes a file, and `json` is a format"),
        (".", 2, "`.` is a directory"),
        ("no/such/place", 13, "cannot write `no/such/place`"),
    ] {
        let (ended, _, stderr) = ran(&world, &["run", "-o", file, "go"]);
        assert_eq!(ended, Some(code), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    }
    assert!(!world.path("started").exists());
}

#[test]
fn json_is_the_machine_format() {
    let world = World::with_agent(TWO_MESSAGES);
    let with_flag = world.run(&["--json", "--run-id", "a", "-p", "go"]);
    assert_eq!(with_flag.verdict(), ("end_turn", Some(0)));
    let (code, _, stderr) = ran(&world, &["run", "--json", "--format", "text", "go"]);
    assert_eq!(code, Some(2), "{stderr}");
    let (code, stdout, _) = ran(&world, &["capabilities", "--json", "--agent", "gemini"]);
    assert!(code == Some(0) && stdout.starts_with('{'), "{stdout}");
}

#[test]
fn a_run_with_more_turns_than_allowed_ends_with_that_cause() {
    let world = World::with_agent(&format!(
        "{}; sleep 600",
        TWO_MESSAGES.replace("success", ":")
    ));
    let told: Told = world.run(&["--max-turns", "1", "go"]);
    assert_eq!(told.verdict(), ("max_turns", Some(17)));
    assert_eq!(told.message(), "the limit of 1 turn is reached");
    world.assert_nothing_is_left();
    for (args, words) in [
        (
            ["--max-turns", "0"],
            "max_turns must be a whole number from 1",
        ),
        (
            ["--timeout", "5 parsecs"],
            "timeout must be a number of seconds, or a time such as '5m'",
        ),
    ] {
        let (code, _, stderr) = ran(&world, &["run", args[0], args[1], "go"]);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    }
}
