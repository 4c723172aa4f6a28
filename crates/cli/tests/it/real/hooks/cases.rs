//! Cases from a seed: hooks of all sorts, and calls of tools that some of them are for.

use serde_json::{Value, json};

/// Numbers by chance, always the same for a seed.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// One start of the CLI.
pub(super) struct Case {
    pub(super) settings: Value,
    pub(super) calls: Vec<Call>,
}

/// A call of a tool.
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) input: Value,
}

/// A text that stands in the arguments of this call and of no other.
pub(super) fn mark(number: usize) -> String {
    format!("m{number}x")
}

const TOOLS: [&str; 6] = [
    "read_file",
    "write_file",
    "run_shell_command",
    "list_directory",
    "glob",
    "grep_search",
];

const MATCHERS: [&str; 20] = [
    "read_file",
    "write_file|read_file",
    "ite_f",
    "^glob$",
    "_file$",
    "Write_File",
    "write_file(",
    "[",
    "*",
    " ",
    ".*",
    "run_.*|grep",
    "(?:list|grep)_(?=d|s)",
    "\\w+_\\w+_\\w+",
    "(?<!read)_file",
    "^(?!run_)",
    "(.)o\\1?b",
    "[[:alpha:]]",
    " glob ",
    "s{1,2}h?e",
];

/// What hooks write to stdout, to stderr, and how they exit. What exits with 2 decides.
const SAYS: [(&str, &str, &str); 34] = [
    ("", "", "exit 0"),
    ("", "", "exit 1"),
    ("", "", "exit 3"),
    ("fine", "", "exit 0"),
    ("hm", "", "exit 1"),
    ("no", "", "exit 2"),
    ("no", "because", "exit 3"),
    ("", "because", "exit 2"),
    ("", "note", "exit 0"),
    ("", "", "no_such_command_at_all"),
    (r#"{"decision":"allow"}"#, "", "exit 0"),
    (r#"{"decision":"allow"}"#, "", "exit 2"),
    (r#"{"decision":"deny","reason":"r1"}"#, "", "exit 0"),
    (r#"{"decision":"deny","reason":"r2"}"#, "", "exit 1"),
    (r#"{"decision":"block","reason":"r3"}"#, "", "exit 2"),
    (r#"{"decision":"deny"}"#, "", "exit 0"),
    (r#"{"decision":"Deny","reason":"r4"}"#, "", "exit 0"),
    (r#"{"decision":"approve","reason":"r5"}"#, "", "exit 0"),
    (r#"{"decision":7,"reason":"r6"}"#, "", "exit 0"),
    (
        r#"{"decision":"deny","reason":"r7","stopReason":"s7"}"#,
        "",
        "exit 0",
    ),
    ("", r#"{"decision":"deny","reason":"r8"}"#, "exit 0"),
    (r#"{"decision":"deny","reason":"r9"} more"#, "", "exit 0"),
    (
        r#""{\"decision\":\"deny\",\"reason\":\"r10\"}""#,
        "",
        "exit 0",
    ),
    (r#""text""#, "", "exit 3"),
    ("42", "x", "exit 3"),
    ("null", "", "exit 0"),
    ("[]", "", "exit 1"),
    (r#"[{"decision":"deny"}]"#, "", "exit 0"),
    (
        r#"{"systemMessage":"hello","suppressOutput":true}"#,
        "",
        "exit 0",
    ),
    (
        r#"{"hookSpecificOutput":{"additionalContext":"a <b> & c"}}"#,
        "",
        "exit 0",
    ),
    (
        r#"{"hookSpecificOutput":{"additionalContext":"second"},"reason":"unused"}"#,
        "",
        "exit 0",
    ),
    (
        r#"{"hookSpecificOutput":{"tool_input":{"limit":1}}}"#,
        "",
        "exit 0",
    ),
    ("killed", "", "kill -9 $$"),
    (
        "  {\"decision\":\"deny\",\"reason\":\"\\u00e4\"}\n\n",
        "",
        "exit 0",
    ),
];

impl Case {
    pub(super) fn make(chance: &mut Chance, calls: usize) -> Self {
        let mut hooks = serde_json::Map::new();
        for (event, most) in [("BeforeTool", 6), ("AfterTool", 4)] {
            let count = 2 + chance.below(most);
            let definitions = (0..count).map(|number| {
                let name = format!("{event}.{number}");
                definition(chance, &name, calls)
            });
            hooks.insert(event.to_owned(), definitions.collect());
        }
        let mut quiet = vec![
            "SessionStart",
            "BeforeAgent",
            "AfterAgent",
            "SessionEnd",
            "PreCompress",
        ];
        if chance.below(4) == 0 {
            quiet.extend(["BeforeModel", "BeforeToolSelection", "AfterModel"]);
        }
        for event in quiet {
            let command = noting(&format!("{event}.quiet"), &[]);
            let hook = json!({"type": "command", "command": command});
            hooks.insert(event.to_owned(), json!([{"hooks": [hook]}]));
        }
        let calls = (0..calls).map(|number| call(chance, number)).collect();
        Self {
            settings: json!({"hooks": hooks}),
            calls,
        }
    }

    /// The hooks, with what each of them says about a call.
    pub(super) fn outline(&self, number: usize) -> String {
        let mut settings = self.settings.clone();
        let events = settings["hooks"].as_object_mut().unwrap();
        events.retain(|event, _| event.ends_with("Tool"));
        let definitions = events.values_mut().filter_map(Value::as_array_mut);
        for definition in definitions.flatten() {
            for hook in definition["hooks"].as_array_mut().unwrap() {
                let command = hook["command"].as_str().unwrap();
                let said = command.split_once(&branch(number)).unwrap().1;
                hook["command"] = said.split_once(";;").unwrap().0.into();
            }
        }
        settings.to_string()
    }
}

fn definition(chance: &mut Chance, name: &str, calls: usize) -> Value {
    let hooks = (0..=chance.below(2)).map(|at| {
        let name = format!("{name}.{at}");
        let says: Vec<_> = (0..calls).map(|_| says(chance, &name)).collect();
        let mut hook = json!({"type": "command", "command": noting(&name, &says)});
        if chance.below(3) == 0 {
            hook["name"] = name.into();
        }
        if chance.below(5) == 0 {
            hook["timeout"] = 30_000.into();
        }
        hook
    });
    let mut definition = json!({"hooks": hooks.collect::<Vec<_>>()});
    if chance.below(6) > 0 {
        definition["matcher"] = (*chance.one(&MATCHERS)).into();
    }
    if chance.below(8) == 0 {
        definition["sequential"] = true.into();
    }
    definition
}

/// Most hooks have nothing against it, or else nothing would ever happen.
fn says(chance: &mut Chance, name: &str) -> (&'static str, &'static str, &'static str) {
    let is_calm = chance.below(5) > 0;
    let says = SAYS[chance.below(if is_calm { 4 } else { SAYS.len() })];
    // After a tool has run there is nothing to be changed about its arguments.
    if name.starts_with("After") && says.0.contains("tool_input") {
        return SAYS[0];
    }
    says
}

/// The shell pattern at which a hook command handles a call.
fn branch(number: usize) -> String {
    format!(" *{}*) ", mark(number))
}

/// A hook command that logs its input, and then prints and exits as `says` lists for the call.
fn noting(name: &str, says: &[(&str, &str, &str)]) -> String {
    let branches = says
        .iter()
        .enumerate()
        .map(|(number, (stdout, stderr, exit))| {
            let branch = branch(number);
            format!("{branch}printf '%s' '{stdout}'; printf '%s' '{stderr}' >&2; {exit};;")
        });
    let branches: String = branches.collect();
    format!(
        r#"told=$(cat); printf '%s\n' "{{\"hook\":\"{name}\",\"places\":\"${{GEMINI_PROJECT_DIR}}|${{GEMINI_CWD}}|${{GEMINI_PLANS_DIR}}|${{GEMINI_SESSION_ID}}|${{CLAUDE_PROJECT_DIR}}|$GEMINI_CWD\",\"told\":$told}}" >> "$HOOK_LOG"; case "$told" in{branches} esac"#
    )
}

fn call(chance: &mut Chance, number: usize) -> Call {
    let mark = mark(number);
    let tool = *chance.one(&TOOLS);
    let input = match tool {
        "read_file" => json!({"file_path": format!("{mark}.txt")}),
        "write_file" => json!({"file_path": format!("new-{mark}.txt"), "content": "new\n"}),
        "run_shell_command" => json!({"command": format!("echo {mark}")}),
        "list_directory" => json!({"dir_path": mark}),
        "glob" => json!({"pattern": format!("{mark}*")}),
        _ => json!({"pattern": format!("needle{mark}")}),
    };
    Call { tool, input }
}
