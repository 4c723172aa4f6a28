//! What runs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lapidary_gemini::hooks::{
    Hook, HookEntry, HookEvent, HookPlan, HookRegistry, HookSource, RunOrder,
};
use serde_json::json;

use super::{WORKSPACE, trusted};

pub(super) fn hook(event: HookEvent, name: &str, matcher: Option<&str>) -> Hook {
    Hook {
        event,
        name: None,
        description: None,
        command: name.to_owned(),
        timeout: None,
        env: BTreeMap::new(),
        fail_open: false,
        matcher: matcher.map(str::to_owned),
        sequential: false,
        source: HookSource::Project,
        scope: None,
        origin: PathBuf::new(),
        place: Vec::new(),
    }
}

pub(super) fn registry(hooks: Vec<Hook>) -> HookRegistry {
    let entry = |hook| HookEntry {
        hook,
        enabled: true,
        disabled_by: Vec::new(),
    };
    HookRegistry {
        hooks: hooks.into_iter().map(entry).collect(),
        ..HookRegistry::default()
    }
}

fn commands(plan: &HookPlan) -> Vec<&str> {
    plan.hooks
        .iter()
        .map(|hook| hook.command.as_str())
        .collect()
}

#[test]
fn a_matcher_is_a_regex_for_tools_a_word_for_sessions_and_ignored_at_other_events() {
    let check = |event: HookEvent, matcher: Option<&str>, context: Option<&str>, runs: bool| {
        let plan = registry(vec![hook(event, "x", matcher)]).plan(event, context);
        assert_eq!(
            !plan.hooks.is_empty(),
            runs,
            "{event} {matcher:?} {context:?}"
        );
        assert_eq!(plan.diagnostics, [""; 0]);
    };
    let tool = Some("write_file");
    for matcher in [
        None,
        Some(""),
        Some("  "),
        Some("*"),
        Some(" * "),
        Some("write_file"),
        Some("ite_f"),
        Some(" write_file\u{feff}"),
    ] {
        check(HookEvent::BeforeTool, matcher, tool, true);
        check(HookEvent::AfterTool, matcher, tool, true);
    }
    check(HookEvent::BeforeTool, Some("Write_File"), tool, false);
    check(HookEvent::BeforeTool, Some("write_file("), tool, false);
    check(
        HookEvent::SessionStart,
        Some("startup"),
        Some("startup"),
        true,
    );
    check(
        HookEvent::SessionStart,
        Some("startup|resume"),
        Some("startup"),
        false,
    );
    check(
        HookEvent::SessionStart,
        Some("start"),
        Some("startup"),
        false,
    );
    check(HookEvent::SessionEnd, Some("exit"), Some("exit"), true);
    check(HookEvent::PreCompress, Some("manual"), Some("auto"), false);
    for event in [
        HookEvent::BeforeAgent,
        HookEvent::AfterAgent,
        HookEvent::BeforeModel,
        HookEvent::AfterModel,
        HookEvent::BeforeToolSelection,
        HookEvent::Notification,
    ] {
        check(event, Some("never"), None, true);
        check(event, Some("never"), Some("whatever"), true);
    }
}

#[test]
fn sources_have_their_order_and_within_one_the_first_is_first() {
    let mut hooks = vec![
        hook(HookEvent::BeforeTool, "e", None),
        hook(HookEvent::BeforeTool, "s", None),
        hook(HookEvent::BeforeTool, "u", None),
        hook(HookEvent::BeforeTool, "p2", None),
        hook(HookEvent::BeforeTool, "p1", None),
        hook(HookEvent::BeforeTool, "r", None),
        hook(HookEvent::AfterTool, "other", None),
    ];
    let sources = [
        HookSource::Extension("x".into()),
        HookSource::System,
        HookSource::User,
        HookSource::Project,
        HookSource::Project,
        HookSource::Runtime,
    ];
    for (hook, source) in hooks.iter_mut().zip(sources) {
        hook.source = source;
    }
    let plan = registry(hooks).plan(HookEvent::BeforeTool, Some("t"));
    assert_eq!(commands(&plan), ["r", "p2", "p1", "u", "s", "e"]);
    assert_eq!(plan.order, RunOrder::Parallel);
}

#[test]
fn the_same_hook_runs_once_and_only_what_runs_decides_the_order() {
    let mut twice = hook(HookEvent::BeforeTool, "a", None);
    twice.sequential = true;
    let mut named = hook(HookEvent::BeforeTool, "a", None);
    named.name = Some("n".to_owned());
    let mut elsewhere = hook(HookEvent::BeforeTool, "b", Some("other"));
    elsewhere.sequential = true;
    let plan = registry(vec![
        hook(HookEvent::BeforeTool, "a", None),
        twice.clone(),
        named,
        elsewhere,
    ])
    .plan(HookEvent::BeforeTool, Some("t"));
    assert_eq!(plan.hooks.len(), 2);
    assert_eq!(plan.order, RunOrder::Parallel);
    let plan = registry(vec![twice]).plan(HookEvent::BeforeTool, Some("t"));
    assert_eq!(plan.order, RunOrder::Sequential);
}

#[test]
fn a_disabled_hook_does_not_run() {
    let mut registry = registry(vec![hook(HookEvent::BeforeTool, "a", None)]);
    registry.hooks[0].enabled = false;
    assert_eq!(
        registry.plan(HookEvent::BeforeTool, Some("t")),
        HookPlan::default()
    );
}

#[test]
fn a_hook_whose_matcher_takes_for_ever_runs_and_says_why() {
    let endless = hook(HookEvent::BeforeTool, "x", Some(r"^(?=a)(a+)+\1$"));
    let name = "a".repeat(60) + "!";
    let plan = registry(vec![endless]).plan(HookEvent::BeforeTool, Some(&name));
    assert_eq!(commands(&plan), ["x"]);
    assert_eq!(plan.diagnostics.len(), 1);
    assert!(
        plan.diagnostics[0].contains("too many steps"),
        "{:?}",
        plan.diagnostics
    );
}

#[test]
fn hooks_that_do_not_run_have_a_reason() {
    let hook = |name: &str| json!({"type": "command", "command": "true", "name": name});
    let settings = json!({
        "hooksConfig": {"disabled": ["off"]},
        "hooks": {
            "BeforeTool": [
                {"hooks": [hook("off"), hook("runs"), hook("runs")]},
                {"matcher": "glob", "hooks": [hook("other")]},
            ],
            "SessionStart": [{"matcher": "startup", "hooks": [hook("start")]}],
        },
    });
    let machine = trusted().file(WORKSPACE, &settings.to_string());
    let registry = HookRegistry::from_setup(&machine.setup());
    let whys = |event, context| -> Vec<String> {
        let all = registry.passed_over(event, Some(context)).into_iter();
        all.map(|it| format!("{}: {}", it.hook.display_name(), it.why))
            .collect()
    };
    let file = machine.path(WORKSPACE);
    assert_eq!(
        whys(HookEvent::BeforeTool, "write_file"),
        [
            format!("off: disabled by {}", file.display()),
            "runs: the same hook runs already".to_owned(),
            "other: matcher \"glob\" does not match \"write_file\"".to_owned(),
        ]
    );
    assert_eq!(
        whys(HookEvent::SessionStart, "resume"),
        ["start: matcher \"startup\" is not \"resume\""]
    );
    assert_eq!(whys(HookEvent::SessionStart, "startup"), [""; 0]);
}
