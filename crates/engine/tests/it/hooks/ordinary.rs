//! Hooks that behave.

use std::time::Duration;

use lapidary_engine::hooks::{AppliedEffect, HookError};
use lapidary_engine::process::Exit;
use lapidary_gemini::hooks::Hook;
use lapidary_wire::gemini::hooks::EventDetails;
use serde_json::{Value, json};

use super::{Scene, hook};

#[tokio::test]
async fn a_hook_gets_its_input_directory_and_variables() {
    let scene = Scene::new();
    let tell = r#"pwd; cat; echo; echo "$INHERITED|${GEMINI_CWD}|${GEMINI_PROJECT_DIR}|${CLAUDE_PROJECT_DIR}|${GEMINI_PLANS_DIR}|${GEMINI_SESSION_ID}|$OWN"; echo $GEMINI_SESSION_ID $GEMINI_CWDX"#;
    let mut told = hook(tell);
    told.env.insert("OWN".into(), "own $X".into());
    told.env.insert("GEMINI_PLANS_DIR".into(), "mine".into());
    let fired = scene.fire(vec![told]).await;
    let here = scene.path().canonicalize().unwrap();
    let here = here.to_str().unwrap();
    let out = fired.runs[0].stdout.text();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], here);
    let payload: Value = serde_json::from_str(lines[1]).unwrap();
    let keys: Vec<_> = payload.as_object().unwrap().keys().collect();
    let expected = [
        "session_id",
        "transcript_path",
        "cwd",
        "hook_event_name",
        "timestamp",
        "tool_name",
        "tool_input",
    ];
    assert_eq!(keys, expected);
    assert_eq!(payload["tool_input"], json!({"file_path": "a.txt"}));
    let cwd = scene.path().to_str().unwrap();
    let places = format!("yes|{cwd}|{cwd}|{cwd}|mine|session%201|own $X");
    assert_eq!(lines[2], places);
    assert_eq!(lines[3], format!("session%201 {cwd}X"));
    assert_eq!(fired.runs[0].exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn all_run_at_once_and_answer_in_the_order_of_the_plan() {
    let scene = Scene::new();
    // Each waits for the other.
    let meet = |mine: &str, other: &str| {
        hook(&format!(
            "touch {mine}; until [ -e {other} ]; do sleep 0.01; done; echo {mine}"
        ))
    };
    let slow = hook("sleep 0.2; echo slow");
    let fired = scene.fire(vec![slow, meet("a", "b"), meet("b", "a")]).await;
    let said: Vec<_> = fired.runs.iter().map(|ran| ran.stdout.text()).collect();
    assert_eq!(said, ["slow\n", "a\n", "b\n"]);
    let message = fired.aggregate.as_ref().unwrap().system_message();
    assert_eq!(message.as_deref(), Some("slow\na\nb"));
}

#[tokio::test]
async fn sequential_hooks_get_the_input_that_the_one_before_changed() {
    let scene = Scene::new();
    let say = |said: &Value, code: u8| {
        hook(&format!(
            "cat >> seen; echo >> seen; echo '{said}'; exit {code}"
        ))
    };
    let context = |context: &str| json!({"hookSpecificOutput": {"additionalContext": context}});
    let hooks = vec![
        say(&context("one"), 0),
        say(&context("lost"), 1),
        say(&json!({"decision": "deny", "reason": "no"}), 0),
        say(&context("two"), 0),
    ];
    let input = scene.around().input(EventDetails::BeforeAgent {
        prompt: "hi".into(),
    });
    let fired = scene.fire_in_turn(hooks, input).await;
    let seen = std::fs::read_to_string(scene.path().join("seen")).unwrap();
    let prompts = seen.lines().map(|line| {
        let payload: Value = serde_json::from_str(line).unwrap();
        payload["prompt"].as_str().unwrap().to_owned()
    });
    let one = "hi\n\none";
    assert_eq!(prompts.collect::<Vec<_>>(), ["hi", one, one, one]);
    assert_eq!(fired.effects(), [AppliedEffect::Block("no".into())]);
    let told = &fired.runs[3].input.details;
    assert_eq!(*told, EventDetails::BeforeAgent { prompt: one.into() });
}

#[tokio::test]
async fn a_tools_input_is_changed_for_the_next() {
    let scene = Scene::new();
    let change = json!({"hookSpecificOutput": {"tool_input": {"limit": 1}}});
    let hooks = vec![hook(&format!("echo '{change}'")), hook("cat")];
    let fired = scene.fire_in_turn(hooks, scene.call()).await;
    let payload: Value = serde_json::from_str(&fired.runs[1].stdout.text()).unwrap();
    assert_eq!(
        payload["tool_input"],
        json!({"file_path": "a.txt", "limit": 1})
    );
}

#[tokio::test]
async fn fixed_arguments_stay_unchanged_for_the_next_hook() {
    let scene = Scene::new();
    let change = json!({"hookSpecificOutput": {"tool_input": {"file_path": "b.txt"}}});
    let plan = lapidary_gemini::hooks::HookPlan {
        hooks: vec![hook(&format!("echo '{change}'")), hook("cat")],
        order: lapidary_gemini::hooks::RunOrder::Sequential,
        ..Default::default()
    };
    let around = lapidary_engine::hooks::HookContext {
        arguments_are_fixed: true,
        ..scene.around()
    };
    let cancel = tokio_util::sync::CancellationToken::new();
    let fired = lapidary_engine::hooks::fire(&plan, scene.call(), &around, &cancel).await;
    let payload: Value = serde_json::from_str(&fired.runs[1].stdout.text()).unwrap();
    assert_eq!(payload["tool_input"], json!({"file_path": "a.txt"}));
}

/// The shell runs no part of the replaced variables, for any value and in any quotes.
#[tokio::test]
async fn nothing_that_others_choose_is_run() {
    let scene = Scene::new();
    let commands = [
        "echo $GEMINI_SESSION_ID $GEMINI_CWD",
        "echo \"$GEMINI_SESSION_ID $GEMINI_CWD\"",
        "echo '$GEMINI_SESSION_ID $GEMINI_CWD'",
        "bash -c 'echo $GEMINI_SESSION_ID $GEMINI_CWD'",
        "echo `echo $GEMINI_SESSION_ID` \"`echo $GEMINI_CWD`\"",
        "echo \"$(echo \"$GEMINI_SESSION_ID\" '$GEMINI_CWD')\"",
        "cat <<E\n$GEMINI_SESSION_ID $GEMINI_CWD\nE\n",
        "x=$GEMINI_SESSION_ID; echo \\$GEMINI_SESSION_ID ${x}$GEMINI_CWD # it's $GEMINI_CWD",
    ];
    let foreign = [
        "$(touch PWNED)",
        "`touch PWNED`",
        "x $(touch PWNED)",
        "x;touch PWNED;",
        "x\ntouch PWNED\n",
        "'; touch PWNED; '",
        "\"; touch PWNED; \"",
        "'\"; touch PWNED; '\"",
        "x\\\";touch PWNED;#",
        "$GEMINI_CWD",
        "-n ) & touch PWNED",
    ];
    for text in foreign {
        let around = lapidary_engine::hooks::HookContext {
            session_id: text.to_owned(),
            session_cwd: Some(scene.path().join(text)),
            ..scene.around()
        };
        let plan = lapidary_gemini::hooks::HookPlan {
            hooks: commands.map(hook).into(),
            ..Default::default()
        };
        let cancel = tokio_util::sync::CancellationToken::new();
        let input = around.input(EventDetails::SessionEnd {
            reason: "exit".to_owned(),
        });
        let fired = lapidary_engine::hooks::fire(&plan, input, &around, &cancel).await;
        let written = fired.runs[1].stdout.text();
        let cwd = scene.path().join(text);
        let (id, written_cwd) = written.split_once(' ').unwrap();
        assert!(!id.contains(|it: char| !it.is_ascii_alphanumeric() && !"%-_".contains(it)));
        assert_eq!(written_cwd, format!("{}\n", cwd.display()));
        assert!(!scene.path().join("PWNED").exists(), "{text}");
    }
}

#[tokio::test]
async fn a_hook_that_cannot_start_is_an_error_and_blocks_nothing() {
    let scene = Scene::new();
    let mut lost = hook("exit 2");
    lost.env.insert("PATH".into(), "/nowhere".into());
    let fired = scene.fire(vec![lost]).await;
    assert!(matches!(fired.runs[0].error, Some(HookError::Start(_))));
    assert!(fired.aggregate.is_none());
    assert!(!fired.is_complete());
}

#[tokio::test]
async fn a_project_that_is_not_trusted_runs_nothing() {
    let scene = Scene::new();
    let mut around = scene.around();
    around.is_trusted = false;
    let plan = lapidary_gemini::hooks::HookPlan {
        hooks: vec![
            hook("touch ran; exit 2"),
            Hook {
                source: lapidary_gemini::hooks::HookSource::Extension("e".into()),
                ..hook("touch extension")
            },
        ],
        ..Default::default()
    };
    let cancel = tokio_util::sync::CancellationToken::new();
    let fired = lapidary_engine::hooks::fire(&plan, scene.call(), &around, &cancel).await;
    assert!(matches!(fired.runs[0].error, Some(HookError::Untrusted)));
    assert!(!scene.path().join("ran").exists());
    assert!(scene.path().join("extension").exists());
    assert!(fired.aggregate.is_none());
}

#[tokio::test]
async fn a_background_process_that_a_hook_left_on_purpose_survives() {
    let scene = Scene::new();
    let left = hook("sleep 600 >/dev/null 2>&1 </dev/null & echo $!");
    let fired = scene.fire(vec![left]).await;
    let pid: i32 = fired.runs[0].stdout.text().trim().parse().unwrap();
    // Long enough to die, had it been killed.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(scene.alive(), 1);
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
