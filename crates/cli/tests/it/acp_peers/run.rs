//! `lapidary run` with these agents, by their commands: text, a thought, a tool by a rule and against one, and each line that we say
//! as the schema has it.

use lapidary_standin::api::{FakeApi, Script, Turn};
use lapidary_testkit::acp::{AcpWorld, Peer};
use lapidary_testkit::acp_schema::SchemaOracle;
use serde_json::Value;

use crate::run::world::{MARK, Mark, Told};
use crate::support::lapidary;

/// A run of an agent whose model follows the script.
fn run(peer: Peer, world: &AcpWorld, script: Script, args: &[&str]) -> Told {
    let api = FakeApi::start_in_thread(script).unwrap();
    let mark = Mark::fresh();
    let words = peer.command_line();
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let mut command = lapidary(["run", "--no-config", "--agent", &quoted.join(" ")]);
    command
        .args(args)
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment(&api.base_url()))
        .env("LAPIDARY_STATE_DIR", world.root().join("state"))
        .env(MARK, mark.value());
    let told = Told::started_by(command);
    mark.assert_nothing_is_left();
    let recording = told.end()["extensions"]["lapidary.recording"].clone();
    let checked = SchemaOracle::load().check_recording(recording.as_str().unwrap().as_ref());
    assert!(checked.unwrap() >= 3, "{told:?}");
    told
}

fn named<'a>(told: &'a Told, event: &str) -> Vec<&'a Value> {
    let named = told.events.iter().filter(|it| it["event"] == event);
    named.collect()
}

fn text(told: &Told) -> String {
    let deltas = named(told, "stream_delta").into_iter();
    let deltas = deltas.filter(|delta| delta["kind"] == "text");
    deltas
        .filter_map(|delta| delta["textDelta"].as_str())
        .collect()
}

/// I10: the prompt is a text block.
fn assert_prompted(told: &Told, words: &str) {
    let inputs = named(told, "user_input");
    let block = &inputs[0]["raw"]["params"]["prompt"][0];
    assert_eq!(
        (&block["type"], &block["text"]),
        (&"text".into(), &words.into())
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_example_agent_is_denied_what_no_rule_allows() {
    let world = AcpWorld::new(Peer::SdkExample);
    for (args, decision, verdict) in [
        (&["go"][..], "denied", ("permission_denied", Some(18))),
        (&["--allow", "edit", "go"], "allowed", ("end_turn", Some(0))),
    ] {
        // It reads a file that is nowhere, without asking.
        let args = [&["--on-violation", "report"], args].concat();
        let told = run(Peer::SdkExample, &world, Script::new(), &args);
        assert_eq!(told.verdict(), verdict, "{told:?}");
        assert_prompted(&told, "go");
        let decided = named(&told, "permission_decision");
        assert_eq!(decided.len(), 1);
        assert_eq!(decided[0]["decision"], decision);
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn claude_runs_a_command_by_a_rule_and_not_against_one() {
    check(Peer::Claude, "claude", &["--allow", "execute:touch *"]);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, `rule_matrix` has opencode, and Claude takes the same way: run `cargo xtask test --full`"
)]
fn opencode_runs_a_command_by_a_rule_and_not_against_one() {
    check(Peer::Opencode, "opencode", &["--allow", "execute:touch *"]);
}

fn check(peer: Peer, family: &str, allow: &[&str]) {
    let world = AcpWorld::new(peer);
    let (tool, args) = peer.shell_call("touch made").unwrap();
    let script = || {
        let first = Turn::thought("A file is wanted.").and_text("I will make it.");
        let first = first.and_call(tool, args.clone());
        Script::new().stream(first).stream("So be it.")
    };
    let made = world.project().join("made");
    let told = run(peer, &world, script(), &["make a file"]);
    assert_eq!(told.verdict(), ("permission_denied", Some(18)), "{told:?}");
    assert!(!made.exists(), "{told:?}");
    let decided = named(&told, "permission_decision");
    assert_eq!(decided[0]["decision"], "denied", "{told:?}");
    assert_prompted(&told, "make a file");
    let allowed = [allow, &["--allow", "edit", "make a file"]].concat();
    let told = run(peer, &world, script(), &allowed);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert!(made.exists(), "{told:?}");
    assert!(text(&told).ends_with("So be it."), "{}", text(&told));
    assert_eq!(told.end()["provider"], family);
    let done = named(&told, "tool_completion");
    assert!(
        done.iter().any(|it| it["status"] == "completed"),
        "{told:?}"
    );
}
