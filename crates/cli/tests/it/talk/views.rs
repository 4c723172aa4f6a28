//! A conversation in every view.

use lapidary_testkit::golden::GoldenFiles;

use super::scene::{command, staged};
use crate::run::world::Told;
use crate::support::root;

const SCENE: &str = r#"
hello(agentInfo={"name": "scripted", "version": "1.0"}); session(); p = hear("session/prompt")
update("agent_thought_chunk", content={"type": "text", "text": "Let me see."})
say("I look "); say("around."); call("c1", kind="read", rawInput={"path": "a.txt"}, status="completed", content=[{"type": "content", "content": {"type": "text", "text": "one\ntwo"}}])
permission(0, "c2"); reply(0); update("tool_call_update", toolCallId="c2", status="failed")
update("plan", entries=[{"content": "look", "status": "completed", "priority": "high"}]); line("noise"); say("There are *two* lines.")
answer(p, {"stopReason": "end_turn", "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}})"#;

const VIEWS: [&str; 7] = [
    "text", "messages", "runtime", "result", "raw", "markdown", "html",
];

#[test]
fn a_conversation_in_every_view() {
    let mut goldens = GoldenFiles::default();
    for view in VIEWS {
        let world = staged(SCENE);
        let told = Told::by(command(&world, &["--run-id", "view", "--format", view]));
        assert_eq!(told.code, Some(0), "{told:?}");
        world.assert_nothing_is_left();
        let here = world.path("").canonicalize().unwrap();
        let text = tidy(&told.stdout, here.to_str().unwrap().trim_end_matches('/'));
        let golden = root().join("crates/cli/tests/it/talk/views").join(view);
        goldens.check(&golden, text.as_bytes());
    }
    goldens.finish();
}

/// Without the parts that differ in every run: directories, times and durations. Of a page, only its body.
fn tidy(text: &str, here: &str) -> String {
    let text = text.replace(here, "/here");
    let text = text
        .split_once("<body>")
        .map_or(text.as_str(), |(_, body)| body);
    let changing = [
        ("\"timestamp\":", ","),
        ("\"durationMs\":", ","),
        ("<time", "</time>"),
        ("<dt>Duration</dt><dd>", "</dd>"),
        ("| Started | ", "\n"),
        ("## Prompt · ", "\n"),
        ("<span class=\"time\">", "</span> "),
    ];
    let text = changing
        .iter()
        .fold(text.to_owned(), |text, (from, to)| without(&text, from, to));
    without_durations(&text)
}

/// Without the text from each `from` to the next `to`.
fn without(text: &str, from: &str, to: &str) -> String {
    let mut parts = text.split(from);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once(to).map_or("", |(_, rest)| rest)
    })
}

/// Without those facts of a list that are durations.
fn without_durations(text: &str) -> String {
    let mut facts = text.split(" · ");
    let first = facts.next().unwrap_or_default().to_owned();
    facts.fold(first, |text, fact| {
        let unit = fact.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let after = unit.strip_prefix(" ms").or_else(|| unit.strip_prefix(" s"));
        match after.filter(|_| unit.len() < fact.len()) {
            Some(rest) if !rest.starts_with(char::is_alphanumeric) => format!("{text}{rest}"),
            _ => format!("{text} · {fact}"),
        }
    })
}
