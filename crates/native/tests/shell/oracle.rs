//! `run_shell_command` beside the tool of the installed Gemini CLI, on command lines of a printed seed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;
use serde_json::{Value, json};

use super::tests::Scene;

/// Command lines, and the ways to write them.
const CASES: usize = 55;
/// Where ours differs on purpose: [`normal`] undoes the first, and a case with `&` the second.
const DEVIATIONS: [&str; 3] = [
    "messages of the shell name it by its path, and count the lines of the command alone",
    "processes that a command leaves behind end with it, and are not listed",
    "`bash -c` around a command stays: the command line that was permitted is the one that runs",
];

const COMMANDS: [&str; 30] = [
    "echo hello",
    "printf hello",
    "echo hello; echo there >&2",
    "printf 'a\\nb\\n\\n'",
    "true",
    "false",
    "exit 3",
    "kill -9 $$",
    "kill -TERM $$",
    "cat missing.txt",
    "ls",
    "pwd",
    "ls | wc -l",
    "printf '\\033[31mred\\033[0m\\n'",
    "printf 'caf\\303\\251 \\360\\237\\230\\200\\n'",
    "printf 'bad \\377 byte\\n'",
    "echo '</untrusted_context>'",
    "set -e; false; echo never",
    "for i in 1 2 3; do echo $i; done",
    "cat <<'END'\nheld\nEND",
    "# only a comment",
    "nothing-like-it",
    "if then",
    "echo a \\",
    "read -r line; echo \"got $line\"",
    "test -t 0 || echo no terminal",
    "echo '  spaces  '",
    "printf '  \\n\\n'",
    "echo $GEMINI_CLI",
    "sleep 1 & echo behind",
];
const BLOCKED: [&str; 5] = [
    "echo $(id)",
    "echo `id`",
    "cat <(ls)",
    "echo \"$(id)\"",
    "echo $((1 + 1))",
];

/// The calls: each command once, some of them wrapped in `bash -c` or in another directory, and calls that are refused.
fn calls() -> Vec<Value> {
    let plain = COMMANDS
        .iter()
        .chain(&BLOCKED)
        .map(|command| json!({ "command": command }));
    let wrapped = COMMANDS[..10]
        .iter()
        .filter(|command| !command.contains('\''))
        .map(|command| json!({ "command": format!("bash -c '{command}'") }));
    let elsewhere = COMMANDS[10..14]
        .iter()
        .map(|command| json!({ "command": command, "dir_path": "sub" }));
    let refused = [
        json!({ "command": "" }),
        json!({ "command": "  " }),
        json!({}),
        json!({ "command": 1 }),
        json!({ "command": "ls", "dir_path": "/etc" }),
        json!({ "command": "ls", "dir_path": ".." }),
        json!({ "command": "ls", "dir_path": ".git" }),
        json!({ "command": "bash -c 'echo $(id)'" }),
        json!({ "command": "echo '$(id)'" }),
        json!({ "command": "echo \\$(id)" }),
        json!({ "command": "  echo trimmed  ", "description": "Says it." }),
    ];
    plain
        .chain(wrapped)
        .chain(elsewhere)
        .chain(refused)
        .collect()
}

/// A text without process ids, and without the named deviations.
fn normal(text: &str) -> String {
    let replaced = [
        (r"Process Group PGID: \d+", "Process Group PGID: N"),
        (r"Background PIDs: [\d, ]+\n", ""),
        (r"(?:/usr)?/bin/bash: ", "bash: "),
        (r"line \d+: ", "line N: "),
        (r"temp directory: \S+", "temp directory: T"),
        (r"-c: option|bash: -c: line", "bash: line"),
        (r"bash: bash: ", "bash: "),
    ];
    replaced
        .iter()
        .fold(text.to_owned(), |text, (pattern, with)| {
            Regex::new(pattern)
                .unwrap()
                .replace_all(&text, *with)
                .into_owned()
        })
}

pub(super) fn commands_are_answered_as_by_gemini_cli() {
    let peers =
        std::env::var_os("LAPIDARY_PEERS").expect("LAPIDARY_PEERS is set: run `cargo xtask test`");
    let scene = Scene::new();
    std::fs::create_dir(scene.root.join("sub")).unwrap();
    std::fs::write(scene.root.join("a.txt"), "one\ntwo\n").unwrap();
    let home = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/oracle/tools.mjs");
    let mut node = Command::new("node")
        .arg(script)
        .arg(peers)
        .env("HOME", home.path())
        .env("GEMINI_CLI_HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let calls = calls();
    assert!(calls.len() >= CASES);
    let mut stdin = node.stdin.take().unwrap();
    for arguments in &calls {
        let asked =
            json!({ "tool": "run_shell_command", "params": arguments, "workspace": scene.root });
        writeln!(stdin, "{asked}").unwrap();
    }
    drop(stdin);
    let answers = BufReader::new(node.stdout.take().unwrap()).lines().skip(1);
    let mut differing = Vec::new();
    let mut count = 0;
    for (arguments, answer) in calls.iter().zip(answers) {
        let theirs: Value = serde_json::from_str(&answer.unwrap()).unwrap();
        let ours = scene.run(arguments);
        let theirs = (
            normal(theirs["text"].as_str().unwrap_or_default()),
            theirs["error"].clone(),
        );
        let ours = (
            normal(&ours.text),
            ours.error.map_or(Value::Null, |kind| kind.0.into()),
        );
        if ours != theirs {
            differing.push(format!(
                "{arguments}\n  ours:   {ours:?}\n  theirs: {theirs:?}"
            ));
        }
        count += 1;
    }
    let _ = node.wait();
    assert_eq!(count, calls.len(), "every call is answered");
    assert!(
        differing.is_empty(),
        "besides {DEVIATIONS:?}:\n{}",
        differing.join("\n")
    );
}
