//! The registry, the planner and the translator of the real Gemini CLI agree on generated cases.
//!
//! All cases go through one start of `node`, which runs those parts of the installed CLI (`upstream.js`).

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use lapidary_gemini::hooks::{Hook, HookEvent, HookRegistry, HookSource, RunOrder, TrustedHooks};
use lapidary_testkit::gemini::GeminiVersion;
use lapidary_testkit::mutate::SeededRng;
use lapidary_wire::gemini::hooks::{
    HookOutput, JsonObject, apply_request, apply_tool_config, from_response, to_request,
    to_response,
};
use serde_json::{Value, json};

use super::plan::hook;
use super::{USER, WORKSPACE, trusted};
use crate::machine::Machine;

const REGISTRIES: u64 = 400;
const TRANSLATIONS: u64 = 2000;
const PATTERNS: u64 = 4000;

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_real_one_registers_plans_and_translates_the_same() {
    let registries: Vec<Case> = (0..REGISTRIES).map(Case::new).collect();
    let translations: Vec<Value> = (0..TRANSLATIONS).map(translation).collect();
    let patterns: Vec<(String, String)> = (0..PATTERNS).map(pattern).collect();
    let said = upstream(&json!({
        "registries": registries.iter().map(Case::told).collect::<Vec<_>>(),
        "translations": translations,
        "patterns": patterns,
    }));
    for (case, said) in registries
        .iter()
        .zip(said["registries"].as_array().unwrap())
    {
        assert_eq!(&case.ours(), said, "{}", case.told());
    }
    for (case, said) in translations
        .iter()
        .zip(said["translations"].as_array().unwrap())
    {
        assert_eq!(&translated(case), said, "{case}");
    }
    let mut decided = 0;
    for ((pattern, name), said) in patterns.iter().zip(said["patterns"].as_array().unwrap()) {
        let expected = said.as_bool().unwrap();
        let plan = plan_of(hook(HookEvent::BeforeTool, "x", Some(pattern)), name);
        if plan.diagnostics.is_empty() {
            decided += 1;
            assert_eq!(!plan.hooks.is_empty(), expected, "`{pattern}` on `{name}`");
        }
    }
    assert!(
        decided > PATTERNS * 9 / 10,
        "only {decided} patterns were decided"
    );
}

fn plan_of(hook: Hook, name: &str) -> lapidary_gemini::hooks::HookPlan {
    super::plan::registry(vec![hook]).plan(HookEvent::BeforeTool, Some(name))
}

/// The answers of the real Gemini CLI's modules to cases.
fn upstream(cases: &Value) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hooks/upstream.js");
    let bundle = GeminiVersion::V0_61_0.program();
    let mut node = Command::new("node")
        .arg(script)
        .arg(bundle.parent().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = node.stdin.take().unwrap();
    let cases = cases.to_string();
    let writing = std::thread::spawn(move || stdin.write_all(cases.as_bytes()).unwrap());
    let output = node.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Dice with faces.
struct Dice(SeededRng);

impl Dice {
    fn chance(&mut self, percent: usize) -> bool {
        self.0.below(100) < percent
    }

    fn one_of<'a>(&mut self, faces: &[&'a str]) -> &'a str {
        faces[self.0.below(faces.len())]
    }

    fn some<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.0.below(most + 1);
        (0..count).map(|_| make(self)).collect()
    }
}

/// Settings, an extension and what happens.
struct Case {
    machine: Machine,
    user: Value,
    workspace: Value,
    extension: Value,
}

const OCCASIONS: [(HookEvent, Option<&str>); 13] = [
    (HookEvent::BeforeTool, Some("write_file")),
    (HookEvent::BeforeTool, Some("mcp_x_y")),
    (HookEvent::AfterTool, Some("read_file")),
    (HookEvent::BeforeAgent, None),
    (HookEvent::AfterAgent, None),
    (HookEvent::Notification, None),
    (HookEvent::SessionStart, Some("startup")),
    (HookEvent::SessionStart, Some("resume")),
    (HookEvent::SessionEnd, Some("exit")),
    (HookEvent::PreCompress, Some("auto")),
    (HookEvent::BeforeModel, None),
    (HookEvent::AfterModel, None),
    (HookEvent::BeforeToolSelection, None),
];

impl Case {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(SeededRng::new(seed));
        let (user, workspace) = (settings(&mut dice), settings(&mut dice));
        let extension = if dice.chance(50) {
            hooks(&mut dice)
        } else {
            json!({})
        };
        let folder = "home/.gemini/extensions/e";
        let machine = trusted()
            .file(USER, &user.to_string())
            .file(WORKSPACE, &workspace.to_string())
            .file(
                &format!("{folder}/gemini-extension.json"),
                r#"{"name": "e", "version": "1.0.0"}"#,
            )
            .file(
                &format!("{folder}/hooks/hooks.json"),
                &json!({"hooks": extension}).to_string(),
            );
        Self {
            machine,
            user,
            workspace,
            extension,
        }
    }

    fn told(&self) -> Value {
        json!({
            "user": self.user, "workspace": self.workspace, "project": self.machine.project(),
            "extensions": [{"isActive": true, "hooks": self.extension}],
            "occasions": OCCASIONS.map(|(event, context)| json!([event.as_str(), context])),
        })
    }

    fn ours(&self) -> Value {
        let registry = HookRegistry::from_setup(&self.machine.setup());
        let entries = registry.hooks.iter().map(|entry| {
            let hook = &entry.hook;
            json!({
                "event": hook.event.as_str(), "name": hook.name, "command": hook.command,
                "source": hook.source.as_str(), "enabled": entry.enabled,
            })
        });
        let plans = OCCASIONS.map(|(event, context)| {
            let plan = registry.plan(event, context);
            let commands = plan
                .hooks
                .iter()
                .map(|hook| json!([hook.name, hook.command]));
            let commands: Vec<Value> = commands.collect();
            let sequential = plan.order == RunOrder::Sequential;
            if commands.is_empty() {
                Value::Null
            } else {
                json!({"commands": commands, "sequential": sequential})
            }
        });
        json!({
            "warnings": registry.warnings, "entries": entries.collect::<Vec<_>>(), "plans": plans,
            "trusted": self.recorded(&registry),
        })
    }

    /// The record of trusted hooks after the user was warned.
    fn recorded(&self, registry: &HookRegistry) -> Value {
        let is_warned = registry
            .warnings
            .iter()
            .any(|text| text.starts_with("WARNING"));
        let Some(hooks) = self.workspace["hooks"].as_object().filter(|_| is_warned) else {
            return Value::Null;
        };
        let mut seen = TrustedHooks::read(&self.machine.home());
        seen.record(&self.machine.project(), hooks).unwrap();
        let file = self.machine.path("home/.gemini/trusted_hooks.json");
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    }
}

fn settings(dice: &mut Dice) -> Value {
    let mut settings = json!({});
    match dice.0.below(10) {
        0 => {}
        1 => settings["hooks"] = json!([]),
        _ => settings["hooks"] = hooks(dice),
    }
    if dice.chance(40) {
        let disabled = dice.some(2, |dice| dice.one_of(&["a", "b", "n", "m"]).to_owned());
        // A single name counts as a list of one.
        let disabled = match disabled.first().filter(|_| dice.chance(20)) {
            Some(alone) => json!(alone),
            None => json!(disabled),
        };
        settings["hooksConfig"] = json!({"disabled": disabled});
    }
    settings
}

fn hooks(dice: &mut Dice) -> Value {
    let mut hooks = JsonObject::new();
    for _ in 0..dice.0.below(5) {
        let known = HookEvent::ALL[dice.0.below(HookEvent::ALL.len())].as_str();
        let event = if dice.chance(15) {
            dice.one_of(&[
                "PreToolUse",
                "beforeTool",
                "notifications",
                "Stop",
                "__proto__",
            ])
        } else {
            known
        };
        let definitions = match dice.0.below(12) {
            0 => definition(dice),
            1 => json!("odd"),
            _ => dice.some(3, definition).into(),
        };
        hooks.insert(event.to_owned(), definitions);
    }
    hooks.into()
}

fn definition(dice: &mut Dice) -> Value {
    if dice.chance(6) {
        return [json!(null), json!("x"), json!({"hooks": {}}), json!([])][dice.0.below(4)].clone();
    }
    let mut definition = json!({"hooks": dice.some(3, a_hook)});
    if dice.chance(60) {
        definition["matcher"] = json!(dice.one_of(&[
            "",
            "*",
            "write_file",
            "write|read",
            "^mcp_",
            "startup",
            "startup|resume",
            "(",
            "file$",
            "auto",
            " exit ",
            "[a-z_]+_y",
        ]));
    }
    if dice.chance(30) {
        definition["sequential"] =
            [json!(true), json!(false), json!("true")][dice.0.below(3)].clone();
    }
    definition
}

fn a_hook(dice: &mut Dice) -> Value {
    let mut hook = json!({"type": "command", "command": dice.one_of(&["a", "b", "c"])});
    if dice.chance(30) {
        hook["name"] = json!(dice.one_of(&["n", "m"]));
    }
    match dice.0.below(12) {
        0 => hook["type"] = json!("Command"),
        1 => hook["command"] = json!(""),
        2 => hook = json!(dice.one_of(&["x", "y"])),
        _ => {}
    }
    hook
}

/// A request, a hook's output for it, a response, and a hook's output for that.
fn translation(seed: u64) -> Value {
    let mut dice = Dice(SeededRng::new(seed));
    let mut said = json!({});
    if dice.chance(80) {
        said["messages"] = dice.some(4, message).into();
    }
    if dice.chance(50) {
        said["config"] = config(&mut dice);
    }
    if dice.chance(30) {
        said["model"] = json!(dice.one_of(&["m", ""]));
    }
    let limited = json!({"tools": [1], "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}});
    json!({
        "request": request(&mut dice), "said": said, "response": response(&mut dice),
        "answer": answer(&mut dice), "output": output(&mut dice),
        "target": if dice.chance(50) { limited } else { json!({}) },
    })
}

fn request(dice: &mut Dice) -> Value {
    let mut request = json!({});
    if dice.chance(80) {
        request["model"] = json!(dice.one_of(&["gemini-2.5-flash", ""]));
    }
    match dice.0.below(10) {
        0 => {}
        1 => request["contents"] = json!("just text"),
        2 => request["contents"] = content(dice),
        _ => request["contents"] = dice.some(4, content).into(),
    }
    if dice.chance(70) {
        request["config"] = config(dice);
        request["config"]["tools"] = json!([]);
    }
    request
}

fn config(dice: &mut Dice) -> Value {
    let mut config = json!({});
    for key in ["temperature", "maxOutputTokens", "topP", "topK"] {
        if dice.chance(50) {
            config[key] = json!(dice.0.below(100));
        }
    }
    config
}

fn content(dice: &mut Dice) -> Value {
    match dice.0.below(10) {
        0 => json!("text"),
        1 => json!({"text": "a part and no content"}),
        2 => json!({"role": "user"}),
        _ => {
            json!({"role": dice.one_of(&["user", "model", "system", "tool"]), "parts": dice.some(3, part)})
        }
    }
}

fn part(dice: &mut Dice) -> Value {
    match dice.0.below(6) {
        0 => json!({"functionCall": {"name": "f"}}),
        1 => json!({"text": "thinking", "thought": true}),
        2 => json!({"text": ""}),
        3 => json!({"inlineData": {}}),
        _ => json!({"text": dice.one_of(&["a", "b <c>", "é"])}),
    }
}

fn message(dice: &mut Dice) -> Value {
    match dice.0.below(14) {
        0 => json!({"content": 5}),
        1 => json!({"role": "user"}),
        2 => json!({"role": "user", "content": {"a": 1}}),
        3 => json!({"role": "user", "content": [1, null, "x", [true]]}),
        4 => json!("odd"),
        5 => json!(null),
        _ => {
            json!({"role": dice.one_of(&["user", "model", "system"]), "content": dice.one_of(&["new", ""])})
        }
    }
}

fn response(dice: &mut Dice) -> Value {
    let mut response = json!({"candidates": dice.some(2, |dice| {
        let mut candidate = json!({"content": {"role": "model", "parts": dice.some(3, part)}});
        if dice.chance(40) {
            candidate["finishReason"] = json!("STOP");
            candidate["index"] = json!(0);
        }
        if dice.chance(20) {
            candidate["safetyRatings"] = json!([{"category": "X", "probability": null, "other": 1}, {}]);
        }
        if dice.chance(10) {
            candidate["content"] = json!({});
        }
        candidate
    })});
    if dice.chance(30) {
        response["usageMetadata"] = json!({"totalTokenCount": 3, "promptTokenCount": 1, "x": 1});
    }
    response
}

fn answer(dice: &mut Dice) -> Value {
    let candidates = dice.some(2, |dice| {
        let mut candidate =
            json!({"content": {"role": "user", "parts": ["a", 5]}, "finishReason": "STOP", "x": 1});
        if dice.chance(15) {
            candidate["content"] = json!({"role": "model"});
        }
        candidate
    });
    if dice.chance(10) {
        json!({"text": "no candidates"})
    } else {
        json!({"text": "t", "candidates": candidates, "usageMetadata": {"any": 1}})
    }
}

fn output(dice: &mut Dice) -> Value {
    let mut output = json!({});
    if dice.chance(40) {
        output["stopReason"] = json!(dice.one_of(&["s", ""]));
    }
    if dice.chance(40) {
        output["reason"] = json!(dice.one_of(&["r", ""]));
    }
    let mut specific = json!({});
    if dice.chance(50) {
        specific["additionalContext"] = [json!("<a> & </b>"), json!(1)][dice.0.below(2)].clone();
    }
    if dice.chance(60) {
        specific["toolConfig"] = [
            json!({"mode": "NONE"}),
            json!({"allowedFunctionNames": ["f"]}),
            json!({}),
            json!(null),
            json!({"mode": "", "allowedFunctionNames": []}),
        ][dice.0.below(5)]
        .clone();
    }
    if dice.chance(90) {
        output["hookSpecificOutput"] = specific;
    }
    output
}

fn translated(case: &Value) -> Value {
    let object = |key: &str| case[key].as_object().unwrap().clone();
    let output = HookOutput(object("output"));
    json!({
        "request": to_request(&object("request")),
        "applied": apply_request(&object("said"), &object("request")),
        "response": to_response(&object("response")),
        "back": from_response(&object("answer")),
        "tools": apply_tool_config(&output, &object("target")),
        "context": output.additional_context(),
        "reason": output.effective_reason(),
    })
}

fn pattern(seed: u64) -> (String, String) {
    let mut dice = Dice(SeededRng::new(seed));
    let atoms = [
        "a", "b", "_", "file", ".", "^", "$", "|", "?", "*", "+", "(", ")", "(?:", "(?=", "(?!",
        "(?<n>", r"\k<n>", "{2}", "{,1}", "{1,", "[ab]", "[^a]", "[", "]", "-", r"\d", r"\w",
        r"\W", r"\s", r"\b", r"\B", r"\1", r"\x61", r"\u0061", r"\.", r"\-", "[a-c]", r"[\w-]",
        "&&", "/",
    ];
    let pattern = dice.some(7, |dice| dice.one_of(&atoms)).concat();
    let name = dice
        .some(5, |dice| {
            dice.one_of(&["a", "b", "_", "file", "1", "-", " ", "{2}"])
        })
        .concat();
    // A tool without a name matches everything.
    (
        pattern,
        if name.is_empty() {
            "a".to_owned()
        } else {
            name
        },
    )
}

#[test]
fn sources_are_called_as_the_real_one_calls_them() {
    let sources = [
        HookSource::Runtime,
        HookSource::Project,
        HookSource::User,
        HookSource::System,
        HookSource::Extension("x".into()),
    ];
    assert_eq!(
        sources.map(|source| source.as_str()),
        ["runtime", "project", "user", "system", "extensions"]
    );
}
