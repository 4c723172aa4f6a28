//! The launch of Gemini CLI: arguments, environment, notices.

use std::ffi::OsString;
use std::path::Path;

use lapidary_engine::config::{ApprovalMode, Config, PermissionMode};
use lapidary_engine::detect::AgentVersion;
use lapidary_engine::gemini_cli::{
    GeminiInvocation, GeminiLaunch, LaunchError, OutputTransport, PromptDelivery, PromptText,
    prepare,
};

/// A run in `/project` that says hello.
pub(crate) fn hello(config: &Config) -> GeminiLaunch<'_> {
    GeminiLaunch {
        config,
        dir: Path::new("/project"),
        prompt: PromptText::Text("hello".to_owned()),
        resume: None,
        session_id: None,
        extra_args: &[],
        version: None,
    }
}

#[track_caller]
pub(crate) fn ready(launch: &GeminiLaunch<'_>) -> GeminiInvocation {
    match prepare(launch).unwrap() {
        PromptDelivery::Ready(invocation) => invocation,
        PromptDelivery::NeedsFile { notice, .. } => panic!("{notice}"),
    }
}

/// The arguments behind `-o stream-json`, which is always there.
#[track_caller]
fn check_args(launch: &GeminiLaunch<'_>, expected: &[&str]) {
    let invocation = ready(launch);
    assert_eq!(invocation.args[..2], ["-o", "stream-json"]); // P10
    assert_eq!(invocation.args[2..], *expected);
}

#[track_caller]
fn check_mode(
    mode: PermissionMode,
    version: Option<&AgentVersion>,
    expected: &[&str],
    notices: &[&str],
) {
    let config = Config::builder().permission_mode(mode).build().unwrap();
    let launch = GeminiLaunch {
        version,
        ..hello(&config)
    };
    check_args(&launch, expected);
    assert_eq!(ready(&launch).notices, notices);
}

const DEFAULT: [&str; 2] = ["--approval-mode", "default"];

/// P10–P13, U34
#[test]
fn there_is_exactly_one_flag_for_what_is_permitted() {
    check_args(&hello(&Config::default()), &DEFAULT);
    check_mode(PermissionMode::Default, None, &DEFAULT, &[]);
    check_mode(
        PermissionMode::AcceptEdits,
        None,
        &["--approval-mode", "auto_edit"],
        &[],
    );
    check_mode(PermissionMode::BypassPermissions, None, &["--yolo"], &[]);
}

#[test]
fn plan_is_asked_for_where_the_version_knows_it() {
    let plan = ["--approval-mode", "plan"];
    check_mode(PermissionMode::Plan, None, &plan, &[]);
    let preview = AgentVersion::parse("0.26.0-preview.0").unwrap();
    check_mode(PermissionMode::Plan, Some(&preview), &plan, &[]);
    check_mode(
        PermissionMode::Plan,
        Some(&AgentVersion::new(0, 25, 9)),
        &DEFAULT,
        &["Gemini CLI 0.25.9 has no plan mode, which came with 0.26: it runs in the default mode"],
    );
}

/// P14–P17
#[test]
fn each_setting_is_an_argument() {
    let config = Config::builder()
        .model("gemini-2.5-pro")
        .set("sandbox", true)
        .include_directory("/a")
        .include_directory("b")
        .allowed_tool("glob")
        .allowed_tool("run_shell_command(git)")
        .build()
        .unwrap();
    let expected = [
        "--approval-mode",
        "default",
        "-m",
        "gemini-2.5-pro",
        "-s",
        "--include-directories",
        "/a",
        "--include-directories",
        "/project/b",
        "--allowed-tools",
        "glob",
        "--allowed-tools",
        "run_shell_command(git)",
    ];
    check_args(&hello(&config), &expected);
    let config = Config::builder().set("sandbox", false).build().unwrap();
    check_args(&hello(&config), &DEFAULT);
}

#[test]
fn sessions_are_resumed_or_named() {
    let config = Config::default();
    let resume = GeminiLaunch {
        resume: Some("latest"),
        ..hello(&config)
    };
    check_args(
        &resume,
        &["--approval-mode", "default", "--resume", "latest"],
    );
    let named = GeminiLaunch {
        session_id: Some("run_1-a"),
        ..hello(&config)
    };
    check_args(
        &named,
        &["--approval-mode", "default", "--session-id", "run_1-a"],
    );
    let both = GeminiLaunch {
        session_id: Some("x"),
        ..resume.clone()
    };
    assert!(matches!(
        prepare(&both),
        Err(LaunchError::ResumeAndSessionId)
    ));
    let old = AgentVersion::new(0, 14, 0);
    let too_old = GeminiLaunch {
        version: Some(&old),
        ..resume
    };
    let error = prepare(&too_old).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Gemini CLI 0.14.0 has no --resume: it came with 0.15"
    );
    assert_eq!(error.hint().unwrap(), "update Gemini CLI to 0.15 or newer");
}

#[test]
fn a_value_is_never_taken_for_a_flag() {
    let config = Config::builder()
        .model("--yolo")
        .allowed_tool("-y")
        .build()
        .unwrap();
    let launch = GeminiLaunch {
        resume: Some("-y"),
        ..hello(&config)
    };
    let expected = [
        "--approval-mode",
        "default",
        "--model=--yolo",
        "--allowed-tools=-y",
        "--resume=-y",
    ];
    check_args(&launch, &expected);
    let launch = GeminiLaunch {
        session_id: Some("-y"),
        ..hello(&config)
    };
    check_args(
        &launch,
        &[
            "--approval-mode",
            "default",
            "--model=--yolo",
            "--allowed-tools=-y",
            "--session-id=-y",
        ],
    );
}

#[test]
fn values_that_the_cli_would_misread_are_refused() {
    #[track_caller]
    fn check(launch: &GeminiLaunch<'_>, message: &str) {
        assert_eq!(prepare(launch).unwrap_err().to_string(), message);
    }
    let comma = "Gemini CLI would cut it at its comma";
    let config = Config::builder()
        .include_directory("/a,/etc")
        .build()
        .unwrap();
    check(
        &hello(&config),
        &format!("`include_directories` cannot be \"/a,/etc\": {comma}"),
    );
    let config = Config::builder().allowed_tool("a,b").build().unwrap();
    check(
        &hello(&config),
        &format!("`allowed_tools` cannot be \"a,b\": {comma}"),
    );
    let config = Config::builder().model("a\0b").build().unwrap();
    check(
        &hello(&config),
        "`model` cannot be \"a\\0b\": it holds a NUL character",
    );
    let config = Config::default();
    let resume = Some("  ");
    check(
        &GeminiLaunch {
            resume,
            ..hello(&config)
        },
        "`resume` cannot be \"  \": it is empty",
    );
    let session_id = Some("");
    check(
        &GeminiLaunch {
            session_id,
            ..hello(&config)
        },
        "`session-id` cannot be \"\": it is empty",
    );
    let session_id = Some("../x");
    check(
        &GeminiLaunch {
            session_id,
            ..hello(&config)
        },
        "`session-id` cannot be \"../x\": only letters, digits, `-` and `_` make an id",
    );
}

#[track_caller]
fn check_extra(config: &Config, extra: &[&str], expected: &[&str]) {
    let extra: Vec<OsString> = extra.iter().map(Into::into).collect();
    let launch = GeminiLaunch {
        extra_args: &extra,
        ..hello(config)
    };
    check_args(&launch, expected);
}

/// O25, O26
#[test]
fn options_in_the_users_own_arguments_are_not_repeated() {
    let config = Config::builder()
        .model("m")
        .approval_mode(ApprovalMode::Yolo)
        .set("sandbox", true)
        .build()
        .unwrap();
    check_extra(
        &config,
        &["--debug"],
        &["--yolo", "-m", "m", "-s", "--debug"],
    );
    for model in [
        &["-m", "x"][..],
        &["--model", "x"],
        &["--model=x"],
        &["-mx"],
        &["-m=x"],
    ] {
        let expected = [&["--yolo", "-s"], model].concat();
        check_extra(&config, model, &expected);
    }
    for mode in [
        &["--yolo"][..],
        &["-y"],
        &["--yolo=true"],
        &["--approval-mode=yolo"],
        &["--approval-mode", "plan"],
        &["--approvalMode=plan"],
    ] {
        let expected = [&["-m", "m", "-s"], mode].concat();
        check_extra(&config, mode, &expected);
    }
    check_extra(&config, &["--sandbox"], &["--yolo", "-m", "m", "--sandbox"]);
}

#[test]
fn a_mode_in_the_users_arguments_that_overrules_the_configured_one_is_reported() {
    let config = Config::builder()
        .approval_mode(ApprovalMode::Plan)
        .build()
        .unwrap();
    let extra = [OsString::from("--yolo")];
    let launch = GeminiLaunch {
        extra_args: &extra,
        ..hello(&config)
    };
    let notice = "the arguments passed on set the approval mode: the configured one is not used";
    assert_eq!(ready(&launch).notices, [notice]);
}

#[test]
fn arguments_that_would_take_the_run_out_of_our_hands_are_refused() {
    let config = Config::default();
    for argument in [
        "-o",
        "--output-format",
        "--output-format=text",
        "--outputFormat",
        "-otext",
        "-p",
        "--prompt=x",
        "-i",
        "--prompt-interactive",
        "-r",
        "--resume",
        "--session-id=1",
        "--session-file",
        "--acp",
        "--experimental-acp",
        "--",
    ] {
        let extra = [OsString::from(argument)];
        let launch = GeminiLaunch {
            extra_args: &extra,
            ..hello(&config)
        };
        assert!(
            matches!(prepare(&launch), Err(LaunchError::Reserved { .. })),
            "{argument}"
        );
    }
}

#[track_caller]
fn check_transport(
    choice: &str,
    version: Option<&AgentVersion>,
    expected: OutputTransport,
    notices: usize,
) {
    let config = Config::builder().set("transport", choice).build().unwrap();
    let launch = GeminiLaunch {
        version,
        ..hello(&config)
    };
    let invocation = ready(&launch);
    let word = match expected {
        OutputTransport::StreamJson => "stream-json",
        OutputTransport::Json => "json",
    };
    assert_eq!(invocation.args[..2], ["-o", word]);
    assert_eq!(
        (invocation.transport, invocation.notices.len()),
        (expected, notices)
    );
}

#[test]
fn an_agent_without_a_stream_gives_one_answer() {
    let (old, new) = (AgentVersion::new(0, 10, 0), AgentVersion::new(0, 11, 0));
    check_transport("auto", None, OutputTransport::StreamJson, 0);
    check_transport("auto", Some(&new), OutputTransport::StreamJson, 0);
    check_transport("auto", Some(&old), OutputTransport::Json, 1);
    check_transport("json", Some(&old), OutputTransport::Json, 0);
    check_transport("json", None, OutputTransport::Json, 0);
    check_transport("stream-json", Some(&new), OutputTransport::StreamJson, 0);
    let config = Config::builder()
        .set("transport", "stream-json")
        .build()
        .unwrap();
    let launch = GeminiLaunch {
        version: Some(&old),
        ..hello(&config)
    };
    let error = prepare(&launch).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Gemini CLI 0.10.0 has no stream-json output: it came with 0.11"
    );
}

#[test]
fn the_launcher_is_switched_off_and_trust_is_given_only_when_asked_for() {
    let no_relaunch = || ("GEMINI_CLI_NO_RELAUNCH".into(), "true".into());
    assert_eq!(ready(&hello(&Config::default())).env, [no_relaunch()]);
    let config = Config::builder()
        .set("trust_workspace", true)
        .build()
        .unwrap();
    let trust = ("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into());
    assert_eq!(ready(&hello(&config)).env, [no_relaunch(), trust]);
}

/// P38, P39
#[test]
fn an_agent_runs_in_the_configured_directory() {
    assert_eq!(ready(&hello(&Config::default())).dir, Path::new("/project"));
    let config = Config::builder().working_dir("sub").build().unwrap();
    assert_eq!(ready(&hello(&config)).dir, Path::new("/project/sub"));
}
