//! Programs that are no agents: each check fails with words, soon, and nothing is left.

use serde_json::json;

use super::{assert_all_gone, card, message, states, visit};
use crate::doctor::Visit;
use crate::run::world::World;

/// The doctor's report on this script, with two seconds for each step.
fn check(script: &str) -> Visit {
    check_within("2", script)
}

fn check_within(seconds: &str, script: &str) -> Visit {
    let world = World::with_agent("exit 1");
    let script = format!("#!/bin/sh\ncd \"$(dirname \"$0\")\"; echo $$ > pids\n{script}\n");
    world.program("agent", &script);
    let agent = world.path("agent").to_str().unwrap().to_owned();
    let seen = visit(&world, &agent, &["--prove", "--timeout", seconds]);
    assert_eq!(
        (seen.code, states(&seen)[0].as_str()),
        (Some(1), "start problem")
    );
    assert_eq!(message_of_leftovers(&seen), "ok");
    assert_eq!(card(&seen)["command"], json!([agent]));
    assert_all_gone(&world);
    seen
}

fn message_of_leftovers(seen: &Visit) -> String {
    let states = states(seen);
    let state = states
        .iter()
        .find_map(|line| line.strip_prefix("leftovers "));
    state.unwrap_or_default().to_owned()
}

#[test]
fn an_agent_that_never_answers_initialize_is_reported() {
    let seen = check("sleep 1000");
    assert_eq!(
        message(&seen, "acp_start"),
        "it did not begin: the agent did not answer `initialize` in 2 s"
    );
}

#[test]
fn an_agent_that_floods_is_ended_at_the_output_limit() {
    // The doctor ends the agent long before the timeout. A busy machine still needs seconds to read more bytes than the limit.
    let seen = check_within(
        "30",
        "yes '{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{}}'",
    );
    assert_eq!(
        message(&seen, "acp_start"),
        "it did not begin: the agent wrote more than 16777216 bytes, the limit for one run"
    );
}

#[test]
fn lines_of_an_agent_that_are_no_messages_are_counted_and_filtered() {
    let seen = check("while :; do printf 'Welcome \\033[2J\\377\\n[]\\n17\\n'; sleep 0.05; done");
    let noise = card(&seen)["noiseLines"].as_u64().unwrap();
    assert!(noise > 3, "{noise}");
    assert_eq!(
        message(&seen, "acp_stdout"),
        format!("{noise} lines are not messages of the protocol")
    );
    let world = World::with_agent("exit 1");
    world.program("agent", "#!/bin/sh\nprintf 'Hello \\033[2J\\n'; exit 3\n");
    let agent = world.path("agent").to_str().unwrap().to_owned();
    let seen = visit(&world, &agent, &["--prove", "--format", "text"]);
    assert!(seen.stdout.contains("the first: Hello"), "{seen:?}");
    assert!(!seen.stdout.contains('\u{1b}'), "{seen:?}");
}

#[test]
fn an_agent_that_dies_at_its_start_is_reported_with_its_exit_code() {
    let seen = check("echo 'cannot find my key' >&2; exit 3");
    assert_eq!(
        message(&seen, "acp_start"),
        "it did not begin: the agent has ended with exit code 3"
    );
    assert!(seen.stdout.contains("cannot find my key"));
}

#[test]
fn an_agent_that_ignores_sigterm_and_hides_a_child_is_killed() {
    let seen =
        check("trap '' TERM; setsid sleep 1000 & echo $! >> pids; while :; do sleep 1; done");
    assert_eq!(card(&seen)["shutdown"]["by"], "kill");
}
