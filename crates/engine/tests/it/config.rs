//! Settings: accepted values, refused values, and the text of the errors.

use std::path::{Path, PathBuf};
use std::time::Duration;

use std::collections::BTreeMap;

use lapidary_engine::agents::ModeWords;
use lapidary_engine::agents::{AcpAgent, TokenPlace};
use lapidary_engine::budget::{Budget, BudgetUnknown};
use lapidary_engine::config::{
    ApprovalMode, Config, ConfigValue, DEFAULT_TIMEOUT, KEYS, PROVIDER_KEYS, PermissionMode,
    TransportChoice,
};
use lapidary_engine::confine::{ConfineMode, ConfinementNeed};
use lapidary_normalize::OnDenied;
use lapidary_vocab::event::Provider;
use serde_json::json;

const FILE: &str = "/etc/lapidary.toml";

fn read(text: &str) -> Config {
    let (config, warnings) = Config::from_toml(text, Path::new(FILE)).unwrap();
    assert_eq!(warnings, []);
    config
}

/// The message, without the place in front, which the caller gives.
#[track_caller]
fn check_refused(text: &str, place: &str, message: &str) {
    let error = Config::from_toml(text, Path::new(FILE)).unwrap_err();
    assert_eq!(error.to_string(), format!("{FILE}:{place}: {message}"));
}

#[track_caller]
fn check_json(value: &serde_json::Value, message: &str) {
    let members = value.as_object().unwrap();
    let error = Config::from_json(members).unwrap_err();
    assert_eq!(error.to_string(), message);
}

/// P1, P37, P52
#[test]
fn the_default_configuration_grants_no_permission_and_ten_minutes() {
    let config = read("");
    assert_eq!(config, Config::default());
    assert_eq!(config.permission_mode_or_default(), PermissionMode::Default);
    assert_eq!(config.timeout_or_default(), Duration::from_mins(10));
    assert_eq!(DEFAULT_TIMEOUT, Duration::from_mins(10));
    let nothing = (
        config.sandbox,
        config.include_directories,
        config.allowed_tools,
    );
    assert_eq!(nothing, (None, None, None));
}

/// P2
#[test]
fn every_key_of_a_full_configuration_is_kept() {
    let config = read(
        r#"
        model = "gemini-2.5-pro"
        sandbox = true
        approval_mode = "auto_edit"
        include_directories = ["../lib", "/srv/data"]
        allowed_tools = ["read_file", "glob"]
        working_dir = "work"
        timeout = 90
        agent = "gemini"
        transport = "json"
        start_timeout = 1.5
        idle_timeout = "2m"
        grace = 0.25
        retries = 0
        system_prompt = "Be brief."
        max_output = 1000000
        record = false
        runs_max_age = "2w"
        runs_max_size = "500 MB"
        trust_workspace = true
        budget = "tokens=5"
        max_turns = 7
        budget_unknown = "warn"
        on_denied = "fail"
        on_violation = "report"
        confine = "read-only"
        confinement = "required"
        confine_write = ["cache"]
        confine_connect = [443, 8080]

        [[rule]]
        then = "deny"

        [agents.mine]
        command = "node 'my agent.js' --acp"
        family = "claude"
        env = { KEY = "value" }
        install = "make install"
        plan_mode = "look"
        "#,
    );
    let mine = AcpAgent {
        name: "mine".to_owned(),
        provider: Provider::Claude,
        program: "node".into(),
        args: vec!["my agent.js".into(), "--acp".into()],
        environment: vec![("KEY".into(), "value".into())],
        modes: ModeWords {
            default: None,
            plan: Some("look".to_owned()),
        },
        install: Some("make install".to_owned()),
        endpoint: None,
    };
    let expected = Config {
        agent: Some("gemini".to_owned()),
        model: Some("gemini-2.5-pro".to_owned()),
        sandbox: Some(true),
        permission_mode: Some(PermissionMode::AcceptEdits),
        include_directories: Some(vec![
            PathBuf::from("/etc/../lib"),
            PathBuf::from("/srv/data"),
        ]),
        allowed_tools: Some(vec!["read_file".to_owned(), "glob".to_owned()]),
        working_dir: Some(PathBuf::from("/etc/work")),
        timeout: Some(Duration::from_secs(90)),
        start_timeout: Some(Duration::from_millis(1500)),
        idle_timeout: Some(Duration::from_mins(2)),
        grace: Some(Duration::from_millis(250)),
        retries: Some(0),
        system_prompt: Some("Be brief.".to_owned()),
        max_output: Some(1_000_000),
        record: Some(false),
        runs_max_age: Some(Duration::from_hours(14 * 24)),
        runs_max_size: Some(500_000_000),
        trust_workspace: Some(true),
        transport: Some(TransportChoice::Json),
        budget: Some(Budget::parse("tokens=5").unwrap()),
        max_turns: Some(7),
        budget_unknown: Some(BudgetUnknown::Warn),
        on_denied: Some(OnDenied::Fail),
        on_violation: Some(lapidary_engine::OnViolation::Report),
        confine: Some(ConfineMode::ReadOnly),
        confinement: Some(ConfinementNeed::Required),
        confine_write: Some(vec![PathBuf::from("/etc/cache")]),
        confine_connect: Some(vec![443, 8080]),
        rules: config.rules.clone(),
        prices: None,
        agents: BTreeMap::from([("mine".to_owned(), mine)]),
    };
    let names: Vec<_> = config.rules.iter().map(|rule| &rule.name).collect();
    assert_eq!(names, [&format!("{FILE}:31")]);
    assert_eq!(config, expected);
    assert_eq!(
        read("permission_mode = 'plan'").permission_mode,
        Some(PermissionMode::Plan)
    );
}

#[test]
fn recordings_are_limited_by_age_and_size() {
    let none = (Some(Duration::MAX), Some(u64::MAX));
    let config = read("runs_max_age = 'unlimited'\nruns_max_size = 'unlimited'");
    assert_eq!((config.runs_max_age, config.runs_max_size), none);
    let size = |text: &str| read(&format!("runs_max_size = {text}")).runs_max_size;
    assert_eq!(size("'2GiB'"), Some(2 << 30));
    assert_eq!((size("'10kb'"), size("7")), (Some(10_000), Some(7)));
    for odd in ["'30'", "'0d'", "30", "'d'", "''"] {
        let message = format!(
            "runs_max_age must be an age such as \"30d\" (h, d, w or m), or \"unlimited\", got: {odd}",
        );
        check_refused(&format!("runs_max_age = {odd}"), "1:16", &message);
    }
    for odd in ["'2 gigs'", "'0'", "0", "-1", "'99999999999TiB'", "true"] {
        assert!(
            Config::from_toml(&format!("runs_max_size = {odd}"), Path::new(FILE)).is_err(),
            "{odd}"
        );
    }
}

#[test]
fn prices_count_from_the_users_file_only() {
    let text = "[prices.\"m\"]\ninput = 1\noutput = 2\n";
    assert!(read(text).prices.unwrap().price_for("m").is_some());
    let (project, _) = Config::from_project_toml(text, Path::new(FILE)).unwrap();
    assert_eq!(project.prices, None);
    let refused = Config::from_toml("model = 'x'\n[prices]\nm = 3\n", Path::new(FILE));
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("`prices.\"m\"` has to be a table"),
        "{refused}"
    );
}

#[test]
fn an_agent_that_cannot_be_started_is_refused_where_it_stands() {
    for (text, place, said) in [
        (
            "agents = 3",
            "1:10",
            "agents must be a table for each agent, got: 3",
        ),
        (
            "[agents]\nx = 3",
            "2:5",
            "agents must be a table for each agent, got: 3",
        ),
        (
            "[agents.x]\nfamily = 'y'",
            "1:9",
            "command must be a command line or a list of its words (or `url` an address), got: nothing",
        ),
        (
            "[agents.x]\ncommand = \"a 'b\"",
            "2:11",
            "command must be a command line or a list of its words, got: \"a 'b\"",
        ),
        (
            "[agents.x]\ncommand = ['a', 3]",
            "2:11",
            "command must be a command line or a list of its words, got: ['a', 3]",
        ),
        (
            "[agents.x]\ncommand = 'a'\nenv = { K = 3 }",
            "3:7",
            "env must be a table of texts, got: {…}",
        ),
        (
            "[agents.x]\nurl = 'wss://me:hunter2@h/'",
            "2:7",
            "the agent's URL contains credentials before its host, which would be shown and recorded",
        ),
        (
            "[agents.x]\nurl = 'wss://h/?token=hunter2'",
            "2:7",
            "the agent's URL contains the parameter `token`, which would be shown and recorded",
        ),
        (
            "[agents.x]\nurl = 'wss://h/'\ncommand = 'a'",
            "1:9",
            "command and url exclude each other",
        ),
        (
            "[agents.x]\nurl = 'wss://h/'\ntoken_env = 'T'\ntoken_file = 't'",
            "1:9",
            "token_file and token_env exclude each other",
        ),
        (
            "[agents.x]\ncommand = 'a'\ntoken_env = 'T'",
            "3:13",
            "token_env needs `url`",
        ),
        (
            "[agents.x]\nurl = 'ws://h/'\ntoken_file = 't'",
            "3:14",
            "token_file needs an encrypted `url`, or one on this machine",
        ),
        (
            "[agents.x]\nurl = 'wss://h/'\ntoken_command = ''",
            "3:17",
            "token_command must be a command line or a list of its words, got: nothing",
        ),
        (
            "[agents.x]\ncomand = 'a'",
            "2:1",
            "unknown key `comand` (did you mean `command`?)",
        ),
    ] {
        let error = Config::from_toml(text, Path::new(FILE)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{FILE}:{place}: {said}"),
            "{text}"
        );
    }
}

#[test]
fn an_agent_elsewhere_has_an_address_and_the_place_of_a_token() {
    for (text, place) in [
        ("", None),
        ("token_file = 't'", Some(TokenPlace::File("/etc/t".into()))),
        (
            "token_env = 'T'",
            Some(TokenPlace::Variable("T".to_owned())),
        ),
        (
            "token_command = \"pass show 'a b'\"",
            Some(TokenPlace::Command(vec![
                "pass".to_owned(),
                "show".to_owned(),
                "a b".to_owned(),
            ])),
        ),
    ] {
        let text = format!("[agents.x]\nurl = 'wss://h.example/acp'\n{text}");
        let config = read(&text);
        let endpoint = config.agents["x"].endpoint.clone().unwrap();
        assert_eq!(endpoint.url.shown(), "wss://h.example/acp");
        assert_eq!(endpoint.token, place);
    }
}

/// P46, and the table of keys has no gaps.
#[test]
fn every_key_that_is_named_is_known() {
    assert_eq!(PROVIDER_KEYS.len(), 7);
    assert_eq!(KEYS[..7], PROVIDER_KEYS);
    for key in KEYS {
        let error = Config::builder()
            .set(key, ConfigValue::Table)
            .build()
            .unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("{key} must be ")),
            "{error}"
        );
    }
}

/// P3
#[test]
fn unknown_keys_are_one_warning_and_the_rest_works() {
    let text =
        "modle = 'x'\nmodel = 'y'\napproval-mode = 'z'\nmaxTurns = 3\ntimeoutt = 1\n[mcp]\na = 1\n";
    let (config, warnings) = Config::from_toml(text, Path::new(FILE)).unwrap();
    assert_eq!(config.model.as_deref(), Some("y"));
    let said: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "/etc/lapidary.toml: unknown keys ignored: `modle` (did you mean `model`?), `approval-mode` (did you mean \
             `approval_mode`?), `maxTurns` (did you mean `max_turns`?), `timeoutt` (did you mean `timeout`?), `mcp`"
        ]
    );
    let (_, warnings) =
        Config::from_json(json!({ "idleTimeout": 1 }).as_object().unwrap()).unwrap();
    let said: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        ["unknown key ignored: `idleTimeout` (did you mean `idle_timeout`?)"]
    );
}

/// P4
#[test]
fn a_timeout_is_greater_than_nothing() {
    for value in ["0", "-1", "0.0", "-0.5", "-inf", "1e-300"] {
        check_refused(&format!("timeout = {value}"), "1:11", "timeout must be > 0");
    }
    check_refused("grace = 0", "1:9", "grace must be > 0");
    check_refused("max_output = 0", "1:14", "max_output must be > 0");
    check_refused("timeout = '0s'", "1:11", "timeout must be > 0");
    check_refused(
        "max_turns = 0",
        "1:13",
        "max_turns must be a whole number from 1, got: 0",
    );
    check_json(&json!({ "timeout": 0 }), "timeout must be > 0");
}

#[test]
fn waiting_for_a_sign_of_life_can_be_without_limit() {
    let config = Config::builder()
        .set("start_timeout", 0)
        .set("idle_timeout", "0s");
    let expected = Config {
        start_timeout: Some(Duration::ZERO),
        idle_timeout: Some(Duration::ZERO),
        ..Config::default()
    };
    assert_eq!(config.build().unwrap(), expected);
    // A value next to zero is a mistake, and does not lift the limit.
    for (value, shown) in [("-1", "-1"), ("1e-300", "1e-300"), ("-inf", "-inf")] {
        let message = format!("idle_timeout must be a time, or 0 for no limit, got: {shown}");
        check_refused(&format!("idle_timeout = {value}"), "1:16", &message);
    }
}

#[test]
fn a_timeout_is_a_number() {
    for (value, shown) in [
        ("true", "True"),
        ("'600'", "'600'"),
        ("[600]", "[600]"),
        ("{ s = 1 }", "{…}"),
        ("1979-05-27", "a date"),
    ] {
        let message =
            format!("timeout must be a number of seconds, or a time such as '5m', got: {shown}");
        check_refused(&format!("timeout = {value}"), "1:11", &message);
    }
    for (value, shown) in [
        ("'40000d'", "'40000d'"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e10", "10000000000.0"),
    ] {
        let message = format!("timeout must be at most 1000000000 seconds, got: {shown}");
        check_refused(&format!("timeout = {value}"), "1:11", &message);
    }
    check_json(
        &json!({ "timeout": true }),
        "timeout must be a number of seconds, or a time such as '5m', got: True",
    );
}

/// P5, P51: `plan` is a fourth.
#[test]
fn an_approval_mode_is_one_of_four() {
    check_refused(
        "# first\napproval_mode = 'x'",
        "2:17",
        "approval_mode must be one of ['auto_edit', 'default', 'plan', 'yolo'], got: 'x'",
    );
    check_json(
        &json!({ "approval_mode": 3 }),
        "approval_mode must be one of ['auto_edit', 'default', 'plan', 'yolo'], got: 3",
    );
    check_refused(
        "permission_mode = 'yolo'",
        "1:19",
        "permission_mode must be one of ['default', 'acceptEdits', 'bypassPermissions', 'plan'], got: 'yolo'",
    );
    check_refused(
        "transport = 'http'",
        "1:13",
        "transport must be one of ['auto', 'acp', 'stream-json', 'json'], got: 'http'",
    );
}

/// P6, P7
#[test]
fn a_list_is_a_list() {
    for (value, name) in [
        ("'src'", "str"),
        ("1", "int"),
        ("1.5", "float"),
        ("true", "bool"),
        ("{ a = 1 }", "dict"),
        ("07:32:00", "datetime"),
    ] {
        for (key, place) in [("include_directories", "1:23"), ("allowed_tools", "1:17")] {
            let message = format!("{key} must be a list, got: {name}");
            check_refused(&format!("{key} = {value}"), place, &message);
        }
    }
    check_json(
        &json!({ "allowed_tools": {} }),
        "allowed_tools must be a list, got: dict",
    );
    check_json(
        &json!({ "allowed_tools": ["glob", null] }),
        "allowed_tools must be a list of strings that are not empty, got: [None]",
    );
}

#[test]
fn null_is_as_good_as_absent() {
    let members = json!({ "timeout": null, "approval_mode": null, "permission_mode": "plan" });
    let (config, warnings) = Config::from_json(members.as_object().unwrap()).unwrap();
    let expected = Config {
        permission_mode: Some(PermissionMode::Plan),
        ..Config::default()
    };
    assert_eq!((config, warnings), (expected, vec![]));
}

#[test]
fn other_values_of_the_wrong_kind_are_refused_with_what_is_accepted() {
    check_refused(
        "sandbox = 1",
        "1:11",
        "sandbox must be true or false, got: 1",
    );
    check_refused(
        "model = ''",
        "1:9",
        "model must be a string that is not empty, got: ''",
    );
    check_refused(
        "retries = 1.0",
        "1:11",
        "retries must be a whole number from 0, got: 1.0",
    );
    check_refused(
        "retries = -1",
        "1:11",
        "retries must be a whole number from 0, got: -1",
    );
    check_refused(
        "transport = \"it's\\u001b\\n\"",
        "1:13",
        r#"transport must be one of ['auto', 'acp', 'stream-json', 'json'], got: "it's\x1b\n""#,
    );
}

#[test]
fn one_setting_under_two_names_is_refused() {
    let both = "approval_mode and permission_mode are one setting and were both given";
    check_refused(
        "approval_mode = 'plan'\npermission_mode = 'plan'",
        "2:19",
        both,
    );
    check_json(
        &json!({ "permission_mode": "plan", "approval_mode": "plan" }),
        both,
    );
    let error = Config::builder()
        .approval_mode(ApprovalMode::Plan)
        .permission_mode(PermissionMode::Plan)
        .build();
    assert_eq!(error.unwrap_err().to_string(), both);
}

#[test]
fn invalid_toml_is_refused_with_its_position() {
    let error = Config::from_toml("model = 'x'\ntimeout = \n", Path::new(FILE)).unwrap_err();
    assert!(
        error.to_string().starts_with("/etc/lapidary.toml:2:"),
        "{error}"
    );
    assert!(!error.to_string().contains('\n'), "{error}");
    let error = Config::from_toml("model = 'ää' 'x'", Path::new(FILE)).unwrap_err();
    let place = "/etc/lapidary.toml:1:14: ";
    assert!(error.to_string().starts_with(place), "{error}");
    check_refused("# ä\nmodel = 'x'\nmodel = 'y'", "3:1", "duplicate key");
}

/// U34
#[test]
fn the_two_words_for_a_mode_mean_the_same() {
    let pairs = [
        (PermissionMode::AcceptEdits, "auto_edit"),
        (PermissionMode::BypassPermissions, "yolo"),
        (PermissionMode::Default, "default"),
        (PermissionMode::Plan, "plan"),
    ];
    for (mode, word) in pairs {
        assert_eq!(ApprovalMode::from(mode).as_str(), word);
        assert_eq!(PermissionMode::from(ApprovalMode::from(mode)), mode);
        let read = read(&format!("approval_mode = '{word}'"));
        assert_eq!(read.permission_mode, Some(mode));
    }
}

#[test]
fn a_higher_layer_wins_key_by_key_under_either_mode_name() {
    let flags = read("permission_mode = 'plan'\nmodel = 'high'");
    let project = read("approval_mode = 'yolo'\ntimeout = 5");
    let user = read("model = 'low'\ntimeout = 7\nsandbox = true");
    let expected = Config {
        model: Some("high".to_owned()),
        permission_mode: Some(PermissionMode::Plan),
        timeout: Some(Duration::from_secs(5)),
        sandbox: Some(true),
        ..Config::default()
    };
    assert_eq!(flags.over(project).over(user), expected);
}

/// P38, P39
#[test]
fn a_configured_directory_beats_the_callers() {
    let caller = Path::new("/home/me");
    assert_eq!(Config::default().working_dir_in(caller), caller);
    let dir = |dir: &str| {
        Config::builder()
            .working_dir(dir)
            .build()
            .unwrap()
            .working_dir_in(caller)
    };
    assert_eq!(dir("/srv"), Path::new("/srv"));
    assert_eq!(dir("sub"), Path::new("/home/me/sub"));
}

#[test]
fn a_program_gets_the_words_that_a_file_gets() {
    let said = |key: &str, value: ConfigValue| {
        let built = Config::builder().set(key, value).build();
        built.unwrap_err().to_string()
    };
    assert_eq!(said("timeout", ConfigValue::Int(0)), "timeout must be > 0");
    assert_eq!(
        said("approval_mode", "x".into()),
        "approval_mode must be one of ['auto_edit', 'default', 'plan', 'yolo'], got: 'x'"
    );
    assert_eq!(
        said("include_directories", "x".into()),
        "include_directories must be a list, got: str"
    );
    assert_eq!(
        said("timout", 1.into()),
        "unknown key `timout` (did you mean `timeout`?)"
    );
    let zero = Config::builder().timeout(Duration::ZERO).build();
    assert_eq!(zero.unwrap_err().to_string(), "timeout must be > 0");
}

#[test]
fn a_program_can_say_all_that_a_file_can() {
    let built = Config::builder()
        .model("m")
        .approval_mode(ApprovalMode::Yolo)
        .timeout(Duration::from_secs(3))
        .include_directory("/a")
        .include_directory("/b")
        .allowed_tool("glob")
        .set("retries", 2)
        .build()
        .unwrap();
    let text = "model = 'm'\napproval_mode = 'yolo'\ntimeout = 3\ninclude_directories = ['/a', '/b']\n\
                allowed_tools = ['glob']\nretries = 2";
    assert_eq!(built, read(text));
}

#[test]
fn the_documentation_names_every_key_and_its_example_works() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = std::fs::read_to_string(page).unwrap();
    for key in KEYS {
        assert!(
            page.contains(&format!("| `{key}` |")),
            "`{key}` is not documented"
        );
    }
    let example = page.split("```toml\n").nth(1).unwrap();
    let (example, _) = example.split_once("```").unwrap();
    assert_ne!(read(example), Config::default());
}
