//! Ways in which an agent may report a call that a rule denies: generated from a grammar of shapes, the same each time.
//!
//! The rules deny writing [`FILE`] (`edit:secret.txt`) and running [`PROGRAM`] (`execute:touch *`). Each way consists of the
//! agent's updates about its call before it asks, and the call in its request for permission.

use serde_json::{Map, Value, json};

/// The file that must not be written.
pub const FILE: &str = "secret.txt";

/// The program that must not be run.
pub const PROGRAM: &str = "touch";

/// The effect of a call, if it is not stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAction {
    /// The file is written.
    Write,
    /// This line is run.
    Run(String),
}

/// A way to tell of a call.
#[derive(Debug, Clone)]
pub struct CallWay {
    /// The effect of the call.
    pub action: ToolAction,
    /// The agent's updates about the call before it asks: of ACP, without their ids.
    pub told: Vec<Value>,
    /// The call in its request for permission, without its id.
    pub asked: Value,
}

/// So many ways to write the file and to run the program, by turns.
pub fn ways(count: usize, seed: u64) -> Vec<CallWay> {
    let mut dice = CallDice(seed);
    (0..count)
        .map(|at| {
            if at % 2 == 0 {
                written_way(&mut dice)
            } else {
                run(&mut dice)
            }
        })
        .collect()
}

/// Numbers that look random, and are the same each time.
struct CallDice(u64);

impl CallDice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

const KINDS: &[Option<&str>] = &[
    Some("edit"),
    Some("EDIT"),
    Some("Edit"),
    Some("write"),
    Some("create"),
    Some("modify"),
    Some("other"),
    Some("dance"),
    None,
];

const NAMES: &[&str] = &[
    "path",
    "filepath",
    "FilePath",
    "file_path",
    "FILE-PATH",
    "output_path",
    "fullPath",
    "absolutePath",
    "target_file",
    "notebook_path",
    "uri",
    "fileUri",
    "where",
    "name",
    "dst",
    "destination",
    "relative_path",
    "newFile",
    "out",
    "x",
];

const SPELLINGS: &[&str] = &[
    "secret.txt",
    "./secret.txt",
    "src/../secret.txt",
    ".//secret.txt",
    "CWD/secret.txt",
    "CWD/src/../secret.txt",
    "file://CWD/secret.txt",
    "file://localhost/CWD/secret.txt",
    "file://CWD/secret%2Etxt",
];

/// A way to write the file. `CWD` stands for the directory of the session.
fn written_way(dice: &mut CallDice) -> CallWay {
    let spelling = dice.one(SPELLINGS);
    let mut call = Map::new();
    if let Some(kind) = dice.one(KINDS) {
        call.insert("kind".to_owned(), kind.into());
    }
    call.insert("title".to_owned(), "Do it".into());
    let plain = "secret.txt";
    match dice.below(10) {
        0..=3 => {
            let name = dice.one(NAMES);
            let input = nested_input(dice, json!({name: spelling, "content": "new"}));
            call.insert("rawInput".to_owned(), input);
        }
        4 => {
            let name = dice.one(&["paths", "files", "edits", "changes", "targets"]);
            let item = dice.one(&["path", "file", "filePath", "uri"]);
            let input = json!({name: [{item: "a.txt"}, {item: spelling}], "newText": "x"});
            call.insert("rawInput".to_owned(), nested_input(dice, input));
        }
        5 => {
            let patch = dice.one(&[
                "*** Begin Patch\n*** Update File: secret.txt\n@@\n-a\n+b\n*** End Patch",
                "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Add File: secret.txt\n+b\n*** End Patch",
                "--- a/secret.txt\n+++ b/secret.txt\n@@ -1 +1 @@\n-a\n+b\n",
                "diff --git a/secret.txt b/secret.txt\n--- a/secret.txt\n+++ b/secret.txt\n@@ -1 +1 @@\n-a\n+b\n",
            ]);
            let name = dice.one(&["patch", "input", "patchText", "diff", "text"]);
            call.insert(
                "rawInput".to_owned(),
                nested_input(dice, json!({name: patch})),
            );
        }
        6 => {
            let place = dice.one(&["path", "uri", "filePath", "file"]);
            call.insert(
                "locations".to_owned(),
                json!([{place: spelling, "line": 3}]),
            );
        }
        7 => {
            let diff = json!({"type": "diff", "path": spelling, "oldText": null, "newText": "x"});
            call.insert("content".to_owned(), json!([diff]));
        }
        8 => {
            let title = dice.one(&[
                "Write secret.txt",
                "`secret.txt`",
                "Edit secret.txt: a => b",
                "→ CWD/secret.txt",
            ]);
            call.insert("title".to_owned(), title.into());
            call.insert("rawInput".to_owned(), json!({}));
        }
        _ => {
            call.insert("rawInput".to_owned(), json!({plain: "new"}));
        }
    }
    announced_in_parts(dice, ToolAction::Write, call)
}

/// Arguments within others.
fn nested_input(dice: &mut CallDice, input: Value) -> Value {
    match dice.below(6) {
        0 => json!({"input": input}),
        1 => json!({"args": [input]}),
        2 => json!({"a": {"b": {"c": input}}}),
        3 => json!({"request": {"arguments": input}, "path": "a.txt"}),
        _ => input,
    }
}

const WRAPPERS: &[&str] = &[
    "sudo",
    "sudo -n",
    "sudo -u root",
    "sudo --user root",
    "sudo --user=root -E",
    "env",
    "env -u X",
    "env A=1",
    "env -i A=1",
    "timeout 5",
    "timeout -s KILL 5",
    "timeout --signal KILL 5",
    "timeout -k 1 5",
    "nice",
    "nice -n 5",
    "nice -n5",
    "stdbuf -o L",
    "stdbuf -oL",
    "nohup",
    "setsid",
    "setsid -w",
    "ionice -c 3",
    "time",
    "time -p",
    "command",
    "exec",
    "A=1",
    "A=1 B='x y'",
    ">/dev/null",
    "2>/dev/null",
    "</dev/null",
    "2>&1",
    "&>/dev/null",
    "xargs -a list",
    "xargs -n 1 -I {}",
    "chrt -b 0",
    "flock lock",
    "busybox",
];

const PROGRAMS: &[&str] = &[
    "touch",
    "/usr/bin/touch",
    "to\\uch",
    "'touch'",
    "t\"ouc\"h",
    "$'\\x74ouch'",
];

const LINES: &[&str] = &[
    "LINE",
    "LINE; true",
    "true && LINE",
    "false || LINE",
    "true | LINE",
    "(LINE)",
    "{ LINE; }",
    "echo $(LINE)",
    "echo \"`LINE`\"",
    "if true; then LINE; fi",
    "while true; do LINE; break; done",
    "true &\nLINE",
    "# it's\nLINE",
    "cat <(LINE)",
    "x=$(LINE)",
    "! LINE",
    "f() { LINE; }; f",
];

const SHELLS: &[&str] = &[
    "bash -c QUOTED",
    "sh -c QUOTED",
    "bash -lc QUOTED",
    "bash -euo pipefail -c QUOTED",
    "bash -o pipefail -c QUOTED",
    "/bin/bash -c QUOTED",
    "bash --norc -c QUOTED",
    "eval QUOTED",
    "env -S QUOTED",
    "su root -c QUOTED",
    "sudo -u root bash -c QUOTED",
    "find . -exec LINE ;",
    "echo QUOTED | sh",
    "bash <<< QUOTED",
    "bash <<E\nLINE\nE",
];

/// A way to run the program.
fn run(dice: &mut CallDice) -> CallWay {
    let mut line = format!("{} made.txt", dice.one(PROGRAMS));
    for _ in 0..dice.below(3) {
        line = format!("{} {line}", dice.one(WRAPPERS));
    }
    if dice.below(3) == 0 && !line.contains('\'') {
        let shell = dice.one(SHELLS);
        line = shell
            .replace("QUOTED", &format!("'{line}'"))
            .replace("LINE", &line);
    }
    let line = dice.one(LINES).replace("LINE", &line);
    let input = match dice.below(6) {
        0 => json!({"command": ["bash", "-lc", line]}),
        1 => json!({"cmd": line}),
        2 => json!({"program": "sh", "args": ["-c", line]}),
        3 => json!({"commands": ["true", line]}),
        _ => json!({"command": line}),
    };
    let mut call = Map::new();
    let kind = dice.one(&[
        Some("execute"),
        Some("EXECUTE"),
        Some("shell"),
        Some("other"),
        Some("read"),
        Some("think"),
        None,
    ]);
    if let Some(kind) = kind {
        call.insert("kind".to_owned(), kind.into());
    }
    call.insert(
        "title".to_owned(),
        dice.one(&["Run it", "ls", "bash"]).into(),
    );
    call.insert("rawInput".to_owned(), nested_input(dice, input));
    announced_in_parts(dice, ToolAction::Run(line), call)
}

/// A call is told when it is asked about, or before, or some of it before.
fn announced_in_parts(
    dice: &mut CallDice,
    action: ToolAction,
    call: Map<String, Value>,
) -> CallWay {
    let told = Value::Object(call);
    let harmless = json!({"title": "Do it", "status": "pending"});
    match dice.below(4) {
        0 => CallWay {
            action,
            told: vec![told],
            asked: harmless,
        },
        1 => {
            let mut first = told.clone();
            first["title"] = dice.one(&["bash", "write", "Do it"]).into();
            CallWay {
                action,
                told: vec![first, told.clone()],
                asked: told,
            }
        }
        2 => CallWay {
            action,
            told: vec![harmless],
            asked: told,
        },
        _ => CallWay {
            action,
            told: Vec::new(),
            asked: told,
        },
    }
}
