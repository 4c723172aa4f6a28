//! Real agents that speak ACP, on a scripted model, spoken to through our connection: each plays a turn with a tool that needs a
//! permission, and one that is cancelled.
//!
//! A start costs seconds of CPU, so each agent is started once.

mod run;
mod stage;

use lapidary_standin::api::{Dialect, RequestKind, Script, ScriptRule, Turn};
use lapidary_testkit::acp::Peer;

use stage::Stage;

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
async fn the_example_agent_plays_its_turn() {
    let mut stage = Stage::start(Peer::SdkExample, Script::new()).await;
    stage.open_session().await;
    let turn = stage.prompt("go").await;
    assert_eq!(turn.stop_reason, "end_turn");
    assert_eq!(turn.permissions, ["allow_once reject_once"]);
    assert_eq!(
        turn.updates,
        [
            "agent_message_chunk",
            "tool_call pending",
            "tool_call_update completed",
            "agent_message_chunk",
            "tool_call pending",
            "tool_call_update completed",
            "agent_message_chunk",
        ]
    );
    let cancelled = stage.prompt_and_cancel("go", "I'll help you").await;
    assert_eq!(cancelled.stop_reason, "cancelled");
    assert_eq!(cancelled.updates, ["agent_message_chunk"]);
    stage.end().await;
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
async fn claude_uses_a_tool_and_is_cancelled() {
    check(Peer::Claude, Dialect::Anthropic).await;
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
async fn opencode_uses_a_tool_and_is_cancelled() {
    check(Peer::Opencode, Dialect::OpenAi).await;
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
async fn gemini_uses_a_tool_and_is_cancelled() {
    check(Peer::Gemini061, Dialect::Gemini).await;
}

/// One script for all of them: a thought, text, a tool, its result, text; and then a model that falls silent.
async fn check(peer: Peer, dialect: Dialect) {
    let (tool, args) = peer
        .shell_call("printf %s-%s made here | tee made")
        .unwrap();
    // Between two prompts some agents ask the model for a likely next prompt, so the script recognises the second prompt by its
    // words.
    let silent = ScriptRule::new(Turn::text("Let me think").hang()).kind(RequestKind::Stream);
    let silent = silent.body("and another");
    let script = Script::new()
        .stream(
            Turn::thought("**Plan**\nA file is wanted.")
                .and_text("I will make it.")
                .and_call(tool, args),
        )
        .stream("There it is.")
        .rule(silent);
    let mut stage = Stage::start(peer, script).await;
    stage.open_session().await;
    let turn = stage.prompt("make a file").await;
    assert_eq!(turn.stop_reason, "end_turn", "{turn:#?}");
    assert_eq!(turn.permissions.len(), 1, "{turn:#?}");
    assert_eq!(turn.thoughts, "**Plan**\nA file is wanted.", "{turn:#?}");
    assert_eq!(turn.text, "I will make it.There it is.", "{turn:#?}");
    let done = "tool_call_update completed".to_owned();
    assert!(turn.updates.contains(&done), "{turn:#?}");
    assert_eq!(stage.made(), "made-here");
    let told = stage.told_to_the_model(dialect);
    assert!(told.contains("made-here"), "{told}");
    let cancelled = stage.prompt_and_cancel("and another", "Let me think").await;
    assert_eq!(cancelled.stop_reason, "cancelled", "{cancelled:#?}");
    stage.end().await;
}
