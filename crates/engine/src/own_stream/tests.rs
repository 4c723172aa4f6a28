//! Arguments and stdin of agents with a stream of their own.

use std::ffi::OsString;
use std::path::Path;

use super::*;

fn launch(config: &Config) -> StreamLaunch<'_> {
    StreamLaunch {
        config,
        dir: Path::new("/home/me"),
        prompt: "-fix \"it\"",
        resume: None,
        session_id: None,
        extra_args: &[],
        schema: None,
        schema_file: None,
    }
}

fn joined(invocation: &StreamInvocation) -> String {
    let args = invocation.args.iter().map(|arg| arg.to_str().unwrap());
    args.collect::<Vec<_>>().join(" ")
}

fn claude() -> &'static StreamAgent {
    StreamAgent::named("claude").unwrap()
}

fn codex() -> &'static StreamAgent {
    StreamAgent::named("codex").unwrap()
}

#[test]
fn the_prompt_goes_by_stdin_and_the_default_mode_allows_nothing() {
    let config = Config::default();
    let told = claude().prepare(&launch(&config)).unwrap();
    assert_eq!(
        joined(&told),
        "-p --output-format stream-json --verbose --include-partial-messages --forward-subagent-text \
         --input-format stream-json --replay-user-messages --permission-mode default --setting-sources user"
    );
    let message: serde_json::Value = serde_json::from_slice(&told.stdin).unwrap();
    let content = "-fix \"it\"";
    assert_eq!(
        message,
        serde_json::json!({"type": "user", "message": {"role": "user", "content": content}})
    );
    assert!(told.stdin.ends_with(b"}\n"));
    let told = codex().prepare(&launch(&config)).unwrap();
    assert_eq!(
        joined(&told),
        "exec --json --skip-git-repo-check --sandbox read-only --ignore-rules -"
    );
    assert_eq!(told.stdin, b"-fix \"it\"");
}

#[test]
fn each_permission_mode_has_flags_of_the_agent() {
    use PermissionMode::{AcceptEdits, BypassPermissions, Default, Plan};
    let flags = |agent: &StreamAgent| {
        [Plan, Default, AcceptEdits, BypassPermissions].map(|mode| agent.mode_flags(mode).join(" "))
    };
    assert_eq!(
        flags(claude()),
        [
            "--permission-mode plan",
            "--permission-mode default",
            "--permission-mode acceptEdits",
            "--permission-mode bypassPermissions",
        ]
    );
    assert_eq!(
        flags(codex()),
        [
            "--sandbox read-only",
            "--sandbox read-only",
            "--sandbox workspace-write",
            "--dangerously-bypass-approvals-and-sandbox",
        ]
    );
}

#[test]
fn a_trusted_workspace_and_a_session_to_resume_reach_the_agent() {
    let config = Config::builder()
        .model("m")
        .set("trust_workspace", true)
        .build();
    let config = config.unwrap();
    let resumed = StreamLaunch {
        resume: Some("s-1"),
        ..launch(&config)
    };
    let told = joined(&claude().prepare(&resumed).unwrap());
    assert!(told.ends_with("--model m --resume s-1"), "{told}");
    assert!(!told.contains("--setting-sources"), "{told}");
    let told = joined(&codex().prepare(&resumed).unwrap());
    assert!(told.ends_with("--model m resume s-1 -"), "{told}");
    let latest = StreamLaunch {
        resume: Some("latest"),
        ..launch(&config)
    };
    let told = joined(&claude().prepare(&latest).unwrap());
    assert!(told.ends_with("--model m --continue"), "{told}");
    let told = joined(&codex().prepare(&latest).unwrap());
    assert!(told.ends_with("--model m resume --last -"), "{told}");
}

#[test]
fn a_value_that_looks_like_a_flag_and_arguments_of_ours_are_refused() {
    let config = Config::default();
    for agent in &STREAM_AGENTS {
        let flag = StreamLaunch {
            resume: Some("--dangerously-skip-permissions"),
            ..launch(&config)
        };
        let error = agent.prepare(&flag).unwrap_err().to_string();
        assert!(error.contains("begins with a hyphen"), "{error}");
        let both = StreamLaunch {
            resume: Some("a"),
            session_id: Some("b"),
            ..launch(&config)
        };
        assert!(agent.prepare(&both).is_err());
    }
    let extra = [OsString::from("--output-format=text")];
    let ours = StreamLaunch {
        extra_args: &extra,
        ..launch(&config)
    };
    let error = claude().prepare(&ours).unwrap_err().to_string();
    assert_eq!(
        error,
        "`--output-format` cannot be passed on: Lapidary sets it"
    );
}
