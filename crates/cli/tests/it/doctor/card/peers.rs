//! The cards of real agents.

use lapidary_testkit::acp::{AcpWorld, Peer};
use lapidary_testkit::gemini::GeminiVersion;
use serde_json::{Value, json};

use super::{card, message, real, states};
use crate::doctor::Visit;
use crate::doctor::prove::holders;

/// The card of a peer, by its command line.
fn visit(peer: Peer) -> (Visit, Value) {
    let world = AcpWorld::new(peer);
    let words = peer.command_line().join(" ");
    let project = world.project();
    let args = ["--agent", &words, "-C", project.to_str().unwrap()];
    let seen = real(&args, world.environment(""));
    let card = card(&seen);
    (seen, card)
}

/// What everybody here does as the protocol says.
#[track_caller]
fn assert_well(seen: &Visit, card: &Value) {
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert_eq!(card["protocolVersion"], 1);
    assert_eq!(card["session"]["opened"], true, "{card}");
    assert_eq!(card["turn"]["stopReason"], "end_turn", "{card}");
    assert_eq!(card["cancel"]["stopReason"], "cancelled", "{card}");
    assert_eq!(card["unknownMethod"]["code"], -32601, "{card}");
    assert_eq!(card["noiseLines"], 0, "{card}");
    assert!(
        states(seen).contains(&"leftovers ok".to_owned()),
        "{seen:?}"
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_example_agent_has_no_model() {
    let (seen, card) = visit(Peer::SdkExample);
    assert_well(&seen, &card);
    let turn = json!({ "stopReason": "end_turn", "modelAsked": false, "textArrived": false });
    assert_eq!(card["turn"], turn);
    assert_eq!(card["shutdown"]["by"], "eof");
    let unproven = ["turn unproven", "permission unproven", "usage unproven"];
    let states = states(&seen);
    assert!(
        unproven
            .iter()
            .all(|state| states.contains(&(*state).to_owned())),
        "{states:?}"
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn claude_by_its_command_asks_before_a_shell_command_that_writes() {
    let (seen, card) = visit(Peer::Claude);
    assert_well(&seen, &card);
    assert_eq!(card["agentName"], "@agentclientprotocol/claude-agent-acp");
    let turn = json!({
        "stopReason": "end_turn", "modelAsked": true, "textArrived": true, "asksBeforeShell": true,
        "asksBeforeReadOnlyShell": false, "usageIn": ["_meta.quota", "usage", "usage_update"],
    });
    assert_eq!(card["turn"], turn);
    assert_eq!(
        card["rules"], "watched",
        "who it is, its command does not say"
    );
    assert_eq!(card["session"]["mode"], "default");
    assert_eq!(card["abilities"]["delete"], true);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and `rule_matrix` and Claude have each part of it: run `cargo xtask test --full`"
)]
fn opencode_asks_before_a_shell_command_if_its_configuration_says_so() {
    let (seen, card) = visit(Peer::Opencode);
    assert_well(&seen, &card);
    assert_eq!(card["agentName"], "OpenCode");
    let turn = json!({
        "stopReason": "end_turn", "modelAsked": true, "textArrived": true, "asksBeforeShell": true,
        "asksBeforeReadOnlyShell": true, "usageIn": ["usage"],
    });
    assert_eq!(card["turn"], turn);
    assert_eq!(card["session"]["models"], json!(["stand-in/model"]));
    assert_eq!(card["rules"], "asked");
    assert!(
        states(&seen).contains(&"permission ok".to_owned()),
        "{seen:?}"
    );
    assert_eq!(
        message(&seen, "prove_rules"),
        "over acp, asked and denied: read, search, edit, delete, move, execute, fetch, mcp"
    );
}

/// What held the attempts of each kind with an agent by its name.
fn held(peer: Peer) -> (Visit, Vec<String>) {
    let world = AcpWorld::new(peer);
    let project = world.project();
    let args = ["--agent", peer.name(), "-C", project.to_str().unwrap()];
    let seen = real(&args, world.named_environment(""));
    let held = holders(&seen, "acp");
    (seen, held)
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and `doctor::prove` proves it of Gemini CLI: run `cargo xtask test --full`"
)]
fn each_kind_of_action_is_held_back_by_the_other_agents_that_take_rules() {
    for (peer, search) in [(Peer::Claude, "no_tool"), (Peer::Qwen, "question")] {
        let (seen, held) = held(peer);
        let mut expected = ["question"; 8];
        expected[1] = search;
        assert_eq!(
            (seen.code, held),
            (Some(0), expected.map(str::to_owned).to_vec())
        );
    }
}

/// It reads and searches by commands, so it loses its shell. A command that deletes or moves fails in its sandbox.
#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn the_layer_that_holds_back_each_kind_is_proved_for_codex() {
    let (seen, held) = held(Peer::Codex);
    let expected = [
        "no_tool",
        "no_tool",
        "question",
        "agent",
        "agent",
        "no_tool",
        "no_tool",
        "not_started",
    ];
    assert_eq!(
        (seen.code, held),
        (Some(0), expected.map(str::to_owned).to_vec())
    );
    let why = "it does not ask about MCP tools that say they only read";
    assert!(seen.stdout.contains(why), "{seen:?}");
    let said = "not started: mcp";
    assert!(message(&seen, "prove_rules").ends_with(said), "{seen:?}");
}

/// By its name it is proven both ways.
#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and `doctor::prove` proves it both ways: run `cargo xtask test --full`"
)]
fn gemini_has_a_card_beside_its_proofs() {
    let world = AcpWorld::new(Peer::Gemini061);
    let mut environment = world.environment("");
    let program = GeminiVersion::V0_61_0.program();
    environment.push(("GEMINI_CLI_PATH".into(), program.into()));
    let project = world.project();
    let args = ["--agent", "gemini", "-C", project.to_str().unwrap()];
    let seen = real(&args, environment);
    let card = card(&seen);
    assert_well(&seen, &card);
    assert_eq!(
        (&card["agentName"], &card["agentVersion"]),
        (&json!("gemini-cli"), &json!("0.61.0"))
    );
    let turn = json!({
        "stopReason": "end_turn", "modelAsked": true, "textArrived": true, "asksBeforeShell": true,
        "asksBeforeReadOnlyShell": true, "usageIn": ["_meta.quota"],
    });
    assert_eq!(card["turn"], turn);
    assert_eq!(
        card["session"]["modes"],
        json!(["default", "autoEdit", "yolo", "plan"])
    );
    let checkup = seen.checkup();
    let names = checkup["checks"].as_array().unwrap().iter();
    let proofs = names.filter(|check| check["name"].as_str().unwrap().starts_with("prove_"));
    assert_eq!(proofs.count(), 7);
}
