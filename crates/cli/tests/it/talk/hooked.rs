//! `--hooks`: the events that hooks see of an agent over ACP, and the actions that they can prevent.

mod around;
mod asked;
mod cut_off;
mod denied;
mod distrust;
mod heard;
mod hidden;
mod killed;
mod many;
mod recorded;
mod rehearsed;
mod stopped;
mod transcript;
mod unusable;

use std::fs;

use lapidary_testkit::patience::with_enough_time;
use serde_json::{Value, json};

use super::scene::{Played, command, staged};
use crate::run::world::{Told, World};

/// A hook that appends its payload to the file `seen`.
fn hook(command: &str) -> Value {
    let command = format!("told=$(cat); printf '%s\\n' \"$told\" >> seen; {command}");
    json!({"hooks": [{"type": "command", "command": command}]})
}

fn matching(matcher: &str, command: &str) -> Value {
    let mut hook = hook(command);
    hook["matcher"] = matcher.into();
    hook
}

fn write_hooks(world: &World, hooks: &Value) {
    fs::create_dir(world.path("project/.gemini")).unwrap();
    let settings = json!({"hooks": hooks}).to_string();
    fs::write(world.path("project/.gemini/settings.json"), settings).unwrap();
}

/// Plays a scene around which these hooks are fired.
fn play(hooks: &Value, scene: &str, args: &[&str], ends: (&str, i32)) -> Played {
    let played = play_to_any_end(hooks, scene, args);
    let expected = (ends.0, Some(ends.1));
    assert_eq!(played.told.verdict(), expected, "{}", played.told.stderr);
    played
}

/// Plays a scene, however that ends.
fn play_to_any_end(hooks: &Value, scene: &str, args: &[&str]) -> Played {
    let world = staged(scene);
    write_hooks(&world, hooks);
    let mut all = vec!["--hooks"];
    all.extend(args);
    let told = Told::by(command(&world, &all));
    world.assert_nothing_is_left();
    Played { world, told }
}

/// Plays a scene whose time will be up: again with twice the time, until it came as far as the test wants. Returns the seconds as well.
fn play_until_late(
    hooks: &Value,
    scene: &str,
    args: &[&str],
    is_far_enough: impl Fn(&Played) -> bool,
) -> (Played, f64) {
    with_enough_time(2.0, |seconds| {
        let timeout = seconds.to_string();
        let args = [args, &["--timeout", &timeout]].concat();
        let played = play(hooks, scene, &args, ("timeout_total", 14));
        is_far_enough(&played).then_some((played, seconds))
    })
}

const DONE: (&str, i32) = ("end_turn", 0);

impl Played {
    /// The payloads that the hooks got, in their order.
    fn seen(&self) -> Vec<Value> {
        let seen = fs::read_to_string(self.world.path("project/seen")).unwrap_or_default();
        let lines = seen.lines().filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn seen_events(&self) -> Vec<String> {
        let seen = self.seen().into_iter();
        seen.map(|told| told["hook_event_name"].as_str().unwrap().to_owned())
            .collect()
    }

    fn runs(&self) -> Vec<&Value> {
        let events = self.told.events.iter();
        events
            .filter(|event| event["event"] == "hook_run")
            .collect()
    }
}

const ASKS: &str = r#"
p = prompted()
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "title": "rm -rf x", "kind": "execute", "rawInput": {"command": "rm -rf x"}}, options=OPTIONS)
r = reply(0)
ok = r["result"]["outcome"].get("optionId") == "yes"
update("tool_call_update", toolCallId="c", status="completed" if ok else "failed", content=[{"type": "content", "content": {"type": "text", "text": "gone"}}])
say("all "); say("done")
done(p)
"#;

#[test]
fn a_denial_by_a_hook_overrides_every_permission() {
    let hooks =
        json!({"BeforeTool": [matching("run_shell_command", "echo dangerous >&2; exit 2")]});
    let played = play(&hooks, ASKS, &["--yolo"], DONE);
    let answer = played.answer(0);
    assert_eq!(answer["outcome"]["optionId"], "no");
    let mark = &answer["_meta"]["lapidary"];
    assert_eq!(mark["decidedBy"], "hook");
    assert_eq!(mark["reason"], "a hook denied it: dangerous");
    let seen = played.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0]["tool_name"], "run_shell_command");
    assert_eq!(seen[0]["tool_input"], json!({"command": "rm -rf x"}));
    assert_eq!(seen[0]["session_id"], "s");
    let runs = played.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["hookEvent"], "BeforeTool");
    assert_eq!(runs[0]["exitCode"], 2);
    assert_eq!(runs[0]["decision"], "deny");
    assert_eq!(runs[0]["reason"], "dangerous");
    assert_eq!(runs[0]["sessionId"], "s");
}

#[test]
fn a_hook_that_exits_with_2_in_silence_denies_the_call() {
    let hooks = json!({"BeforeTool": [matching("shell", "exit 2")]});
    let played = play(&hooks, ASKS, &["--yolo"], DONE);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
}

#[test]
fn hooks_of_other_tools_are_not_asked() {
    let hooks = json!({"BeforeTool": [matching("write_file", "exit 2")]});
    let played = play(&hooks, ASKS, &["--yolo"], DONE);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "yes");
    assert!(played.runs().is_empty());
}

#[test]
fn an_allowing_hook_does_not_replace_a_permission() {
    let allow = r#"echo '{"decision":"allow"}'"#;
    let hooks = json!({"BeforeTool": [hook(allow)]});
    let played = play(&hooks, ASKS, &[], DONE);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
}

#[test]
fn a_hook_can_require_a_prompt_and_notification_hooks_run_for_it() {
    let ask = r#"echo '{"decision":"ask","systemMessage":"really?"}'"#;
    let hooks = json!({"BeforeTool": [hook(ask)], "Notification": [hook("true")]});
    let played = play(&hooks, ASKS, &["--yolo"], DONE);
    assert_eq!(
        played.answer(0)["outcome"]["optionId"],
        "no",
        "nobody is there"
    );
    let seen = played.seen();
    assert_eq!(seen[1]["hook_event_name"], "Notification");
    assert_eq!(seen[1]["notification_type"], "ToolPermission");
    assert_eq!(seen[1]["message"], "Tool rm -rf x requires execution");
    let details =
        json!({"type": "exec", "title": "rm -rf x", "command": "rm -rf x", "rootCommand": "rm"});
    assert_eq!(seen[1]["details"], details);
}

#[test]
fn every_moment_that_comes_by_is_seen_in_order() {
    let all = [
        "SessionStart",
        "BeforeAgent",
        "BeforeTool",
        "AfterTool",
        "AfterAgent",
        "SessionEnd",
    ];
    let hooks: serde_json::Map<_, _> = all
        .iter()
        .map(|event| ((*event).to_owned(), json!([hook("true")])))
        .collect();
    let played = play(&hooks.into(), ASKS, &["--yolo"], DONE);
    assert_eq!(played.seen_events(), all);
    let seen = played.seen();
    assert_eq!(seen[0]["source"], "startup");
    assert_eq!(seen[1]["prompt"], "go");
    assert_eq!(seen[3]["tool_response"]["llmContent"], "gone");
    assert_eq!(seen[4]["prompt_response"], "all done");
    assert_eq!(seen[4]["stop_hook_active"], false);
    assert_eq!(seen[5]["reason"], "exit");
    assert_eq!(played.runs().len(), all.len());
}

#[test]
fn a_denied_call_has_no_after_tool_hook() {
    let hooks = json!({"BeforeTool": [hook("exit 2")], "AfterTool": [hook("true")]});
    let played = play(&hooks, ASKS, &["--yolo"], DONE);
    assert_eq!(played.seen_events(), ["BeforeTool"]);
}

#[test]
fn a_prompt_can_be_blocked() {
    let hooks = json!({"BeforeAgent": [hook("echo 'not today' >&2; exit 2")], "SessionEnd": [hook("true")], "SessionStart": [hook("true")]});
    let scene = "prompted(); say('never')";
    let played = play(&hooks, scene, &[], ("permission_denied", 18));
    assert_eq!(played.times("session/prompt"), 0);
    let end = played.told.end();
    let words = end.to_string();
    assert!(
        words.contains("a hook blocked the prompt: not today"),
        "{words}"
    );
    assert_eq!(
        played.seen_events(),
        ["SessionStart", "BeforeAgent", "SessionEnd"]
    );
}

#[test]
fn contexts_are_added_to_prompts() {
    let add = |context: &str| {
        let said = json!({"hookSpecificOutput": {"additionalContext": context}});
        hook(&format!("echo '{said}'"))
    };
    let hooks = json!({"SessionStart": [add("first")], "BeforeAgent": [add("<last>")]});
    let scene = "p = prompted(); done(p); p = hear('session/prompt'); done(p)";
    let played = play(&hooks, scene, &[], DONE);
    let mut heard = played.heard().into_iter();
    let prompt = heard
        .find(|told| told["method"] == "session/prompt")
        .unwrap();
    let texts: Vec<_> = prompt["params"]["prompt"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["text"].as_str().unwrap())
        .collect();
    let last = "<hook_context>&lt;last&gt;</hook_context>";
    assert_eq!(texts, ["<hook_context>first</hook_context>", "go", last]);
}

#[test]
fn a_hook_that_is_not_content_has_the_agent_go_on() {
    let again = "if [ -e went ]; then true; else touch went; echo 'not yet' >&2; exit 2; fi";
    let hooks = json!({"AfterAgent": [hook(again)], "BeforeAgent": [hook("true")]});
    let scene = r#"
p = prompted(); say("one"); done(p)
p = hear("session/prompt"); say("two"); done(p)
"#;
    let played = play(&hooks, scene, &[], DONE);
    let events = ["BeforeAgent", "AfterAgent", "BeforeAgent", "AfterAgent"];
    assert_eq!(played.seen_events(), events);
    let seen = played.seen();
    assert_eq!(seen[2]["prompt"], "not yet");
    assert_eq!(seen[3]["prompt"], "go");
    assert_eq!(seen[3]["prompt_response"], "one\ntwo");
    assert_eq!(seen[3]["stop_hook_active"], true);
    assert_eq!(played.times("session/prompt"), 2);
}

#[test]
fn calls_made_without_a_permission_request_are_reported_once() {
    let hooks = json!({"BeforeTool": [hook("exit 2")], "AfterTool": [hook("true")]});
    let scene = r#"
p = prompted()
for id in ["a", "b"]:
    update("tool_call", toolCallId=id, title="ReadFile", kind="read", status="in_progress", locations=[{"path": "/x"}])
    update("tool_call_update", toolCallId=id, status="completed")
done(p)
"#;
    let played = play(&hooks, scene, &["--yolo"], DONE);
    let notices = played.diagnostics("notice");
    let unasked = notices.iter().filter(|it| it.contains("without asking"));
    assert_eq!(unasked.count(), 1, "{notices:?}");
    assert_eq!(played.seen_events(), ["AfterTool", "AfterTool"]);
}

#[test]
fn a_file_that_an_agent_writes_through_us_can_be_held_back() {
    let hooks =
        json!({"BeforeTool": [matching("write_file", "grep -q secret seen && exit 2; true")]});
    let scene = r#"
p = prompted()
import os
ask(0, "fs/write_text_file", path=os.path.join(os.getcwd(), "a.txt"), content="plain"); reply(0)
ask(1, "fs/write_text_file", path=os.path.join(os.getcwd(), "b.txt"), content="secret"); reply(1)
done(p)
"#;
    let played = play(&hooks, scene, &["--yolo"], DONE);
    assert!(played.world.path("project/a.txt").exists());
    assert!(!played.world.path("project/b.txt").exists());
    assert_eq!(played.answer(1)["code"], -32000);
    let seen = played.seen();
    assert_eq!(seen[0]["tool_input"]["content"], "plain");
    assert!(seen[0]["tool_input"]["sessionId"].is_null());
}

#[test]
fn a_hook_can_stop_everything() {
    let stop = r#"echo '{"continue":false,"stopReason":"enough"}'"#;
    let hooks = json!({"BeforeTool": [hook(stop)]});
    let scene = r#"
p = prompted()
permission(0); reply(0)
hear("session/cancel"); done(p, "cancelled")
"#;
    let world_ends = ("permission_denied", 18);
    let played = play(&hooks, scene, &["--yolo"], world_ends);
    assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
}

#[test]
fn a_hook_that_hangs_does_not_outlive_the_run() {
    let hooks = json!({"BeforeTool": [hook("(setsid sleep 60 &); sleep 60")]});
    let scene = "p = prompted(); permission(0); reply(0); done(p)";
    let has_begun = |played: &Played| played.seen_events() == ["BeforeTool"];
    play_until_late(&hooks, scene, &[], has_begun);
}

#[test]
fn hooks_that_do_not_run_are_named() {
    let hooks = json!({"BeforeModel": [hook("true")], "BeforeTol": [hook("true")]});
    let played = play(&hooks, "p = prompted(); done(p)", &[], DONE);
    let notices = played.diagnostics("notice").join("\n");
    assert!(
        notices.contains("hooks of `BeforeModel` do not run"),
        "{notices}"
    );
    assert!(notices.contains("BeforeTol"), "{notices}");
}
