//! How a prompt reaches the agent: whole, at once, and unchanged.

use std::fs;

use super::world::{Told, World, names};
use crate::support::output;

const NOTES: &str = r#"printf '%s\n' "$@" > ../args; cat > ../stdin; init; say a; success"#;

#[test]
fn seven_megabytes_arrive_whole() {
    let world = World::with_agent(NOTES);
    let prompt = "0123456789abcdef".repeat(7 << 16);
    let told = from_stdin(&world, prompt.as_bytes());
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    assert!(fs::read_to_string(world.path("stdin")).unwrap() == prompt);
}

#[test]
fn a_prompt_too_long_for_the_agent_is_passed_as_a_file() {
    let world = World::with_agent(NOTES);
    let prompt = "0123456789abcdef".repeat(9 << 16);
    let told = from_stdin(&world, prompt.as_bytes());
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    let args = fs::read_to_string(world.path("args")).unwrap();
    let (_, file) = args
        .trim_end()
        .rsplit_once("Process the prompt in ")
        .unwrap();
    assert!(fs::read_to_string(file).unwrap() == prompt);
    let directory = file.strip_suffix("/prompt.md").unwrap();
    assert!(args.contains(&format!("--include-directories\n{directory}\n")));
    let notice = told
        .events
        .iter()
        .find(|event| event["kind"] == "notice")
        .unwrap();
    assert!(
        notice["message"]
            .as_str()
            .unwrap()
            .contains("passed as a file"),
        "{notice}"
    );
    assert_eq!(fs::read_to_string(world.path("stdin")).unwrap(), "");
}

#[test]
fn a_large_prompt_goes_with_a_run_that_is_not_recorded() {
    let world = World::with_agent(NOTES);
    let command = world.lapidary(&["run", "--no-record", "-"]);
    let told = fed(command, &vec![b'x'; 9 << 20]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    assert_eq!(names(&world.path("state/unrecorded")), [""; 0]);
}

#[test]
fn the_prompt_of_another_run_is_neither_touched_nor_deleted() {
    let world = World::with_agent(NOTES);
    let prompt = vec![b'x'; 9 << 20];
    let run = |more: &[&str]| {
        let args = [&["run", "--run-id", "same", "-"], more].concat();
        fed(world.lapidary(&args), &prompt)
    };
    assert_eq!(run(&[]).verdict(), ("end_turn", Some(0)));
    let runs = world.path("state/runs");
    let unrecorded = ["--no-record", "--record-dir", runs.to_str().unwrap()];
    for more in [&[][..], &unrecorded] {
        let told = run(more);
        assert_eq!(told.verdict(), ("bad_input", Some(13)));
        assert_eq!(told.message(), "there is a recording of `same` already");
        assert!(fs::read(runs.join("same.prompt/prompt.md")).unwrap() == prompt);
    }
    // Nor if the prompt is all that is left of that run.
    fs::remove_dir_all(runs.join("same")).unwrap();
    for more in [&[][..], &unrecorded] {
        let told = run(more);
        assert_eq!(told.verdict(), ("bad_input", Some(13)));
        assert!(fs::read(runs.join("same.prompt/prompt.md")).unwrap() == prompt);
        assert!(!runs.join("same").exists());
    }
}

#[test]
fn a_large_prompt_that_cannot_be_handed_over_is_not_left_behind() {
    let world = World::with_agent(NOTES);
    // Gemini CLI separates directories by commas.
    let command = world.lapidary(&["run", "--record-dir", "a,b", "-"]);
    let told = fed(command, &vec![b'x'; 9 << 20]);
    assert_eq!(told.verdict(), ("bad_input", Some(13)));
    let left = names(&world.path("project/a,b"));
    assert!(!left.iter().any(|it| it.ends_with(".prompt")), "{left:?}");
}

#[test]
fn a_prompt_that_is_not_utf_8_is_refused() {
    let told = from_stdin(&World::with_agent(NOTES), b"caf\xe9");
    assert_eq!(told.verdict(), ("bad_input", Some(13)));
    assert!(told.message().contains("not UTF-8"));
}

#[test]
fn data_on_stdin_comes_before_the_prompt_as_with_gemini_cli() {
    let world = World::with_agent(NOTES);
    let command = world.lapidary(&["run", "--transport", "stream-json", "review this"]);
    let told = fed(command, b"a diff\n");
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    assert_eq!(
        fs::read_to_string(world.path("stdin")).unwrap(),
        "a diff\n\n\nreview this"
    );
    let command = world.lapidary(&["run", "--transport", "stream-json", "review this"]);
    let told = fed(command, b"");
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    assert_eq!(
        fs::read_to_string(world.path("stdin")).unwrap(),
        "review this"
    );
    let command = world.lapidary(&["run", "review this"]);
    let told = fed(command, b"caf\xe9");
    assert_eq!(told.verdict(), ("bad_input", Some(13)));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let told = World::with_agent(NOTES).run(&["--prompt-file", "nowhere.md"]);
    assert_eq!(told.verdict(), ("bad_input", Some(13)));
    assert!(told.message().contains("nowhere.md"), "{}", told.message());
}

fn from_stdin(world: &World, prompt: &[u8]) -> Told {
    fed(world.lapidary(&["run", "-"]), prompt)
}

fn fed(command: std::process::Command, prompt: &[u8]) -> Told {
    Told::of(output(command, prompt), std::time::Duration::ZERO)
}
