//! Each hook event is fired once, by Gemini CLI or by Lapidary: counted for all eleven over both transports, with and without `--hooks`.

use std::collections::BTreeMap;
use std::fs;

use lapidary::gemini::hooks::HookEvent;
use lapidary_standin::api::{Script, Turn};
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use serde_json::{Map, Value, json};

use crate::real::world::Real;

/// The events that Gemini CLI fires itself over ACP.
const OWN: [&str; 7] = [
    "BeforeAgent",
    "AfterAgent",
    "SessionEnd",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    "PreCompress",
];

/// How often each event was fired, and how often the model was told what two of the hooks add.
#[derive(Debug, PartialEq)]
struct Counted {
    events: BTreeMap<String, usize>,
    context: usize,
    start_context: usize,
}

/// A hook for every event, which logs its input. Two of them add context for the model.
fn settings() -> Value {
    let hooks: Map<String, Value> = HookEvent::ALL
        .into_iter()
        .map(|event| {
            let says = match event {
                HookEvent::BeforeAgent => "CTXMARK",
                HookEvent::SessionStart => "STARTMARK",
                _ => "",
            };
            let output = json!({"hookSpecificOutput": {"additionalContext": says}});
            let says = if says.is_empty() {
                String::new()
            } else {
                format!("; echo '{output}'")
            };
            // One line at a time: hooks may run at once.
            let command = format!("told=$(cat); printf '%s\\n' \"$told\" >> \"$HOOK_LOG\"{says}");
            let hook = json!({"type": "command", "command": command});
            (event.as_str().to_owned(), json!([{"hooks": [hook]}]))
        })
        .collect();
    json!({"hooks": hooks})
}

/// A run of two calls: a rule allows the first, and the second is denied because no person is there to ask.
fn counted(args: &[&str]) -> Counted {
    let script = Script::new()
        .stream(Turn::call(
            "run_shell_command",
            json!({"command": "touch a"}),
        ))
        .stream(Turn::call(
            "run_shell_command",
            json!({"command": "touch b"}),
        ))
        .stream("All done.");
    let real = Real::with_settings(V0_61_0, script, &settings());
    let log = real.path("project/hooks.log"); // hooks that the agent runs are confined with it
    let mut command = real.lapidary(&[args, &["--on-denied", "warn", "go"]].concat());
    command.env("HOOK_LOG", &log);
    let told = crate::run::world::Told::started_by(command);
    real.assert_nothing_is_left();
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{}", told.stderr);
    let mut events: BTreeMap<String, usize> = BTreeMap::new();
    for line in fs::read_to_string(&log).unwrap_or_default().lines() {
        let payload: Value = serde_json::from_str(line).unwrap();
        let event = payload["hook_event_name"].as_str().unwrap().to_owned();
        *events.entry(event).or_default() += 1;
    }
    let requests = real.api.requests();
    let last = requests.last().unwrap().body.to_string();
    Counted {
        events,
        context: last.matches("CTXMARK").count(),
        start_context: last.matches("STARTMARK").count(),
    }
}

fn times(counted: &Counted, event: &str) -> usize {
    counted.events.get(event).copied().unwrap_or(0)
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn headless_gemini_cli_fires_all_hooks_and_we_none() {
    let headless = ["--transport", "stream-json", "--yolo"];
    let alone = counted(&headless);
    let hooked = counted(&[headless.as_slice(), &["--hooks"]].concat());
    assert_eq!(alone, hooked);
    for event in HookEvent::ALL.map(HookEvent::as_str) {
        // Without a terminal Lapidary asks no question.
        let is_fired = times(&alone, event) > 0;
        assert_eq!(is_fired, event != "Notification", "{event}: {alone:?}");
    }
    for event in ["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"] {
        assert_eq!(times(&alone, event), 1, "{event}: {alone:?}");
    }
    assert_eq!((alone.context, alone.start_context), (1, 1));
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn over_acp_each_event_is_fired_once_by_gemini_cli_or_by_us() {
    let spoken = ["--transport", "acp", "--allow", "execute:touch a"];
    let alone = counted(&spoken);
    let hooked = counted(&[spoken.as_slice(), &["--hooks"]].concat());
    for event in HookEvent::ALL.map(HookEvent::as_str) {
        let is_own = OWN.contains(&event);
        assert_eq!(times(&alone, event) > 0, is_own, "{event}: {alone:?}");
        if is_own {
            let both = (times(&alone, event), times(&hooked, event));
            assert_eq!(both.0, both.1, "{event}: {alone:?} {hooked:?}");
        }
    }
    for (event, count) in [
        ("SessionStart", 1),
        ("BeforeAgent", 1),
        ("BeforeTool", 2),
        ("AfterTool", 1),
        ("Notification", 1),
        ("AfterAgent", 1),
        ("SessionEnd", 1),
    ] {
        assert_eq!(times(&hooked, event), count, "{event}: {hooked:?}");
    }
    assert_eq!((alone.context, alone.start_context), (1, 0));
    assert_eq!((hooked.context, hooked.start_context), (1, 1));
}
