//! Servers below servers, and the server as a program.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};

use serde_json::{Value, json};

use super::{PATIENT, task};
use crate::run::world::World;

const LAPIDARY: &str = env!("CARGO_BIN_EXE_lapidary");
const KEY: &str = "key-0123456789-of-the-user";

/// The server as a program, with a client.
struct ServedWorld {
    world: World,
    child: Child,
    stdin: Option<ChildStdin>,
    answers: BufReader<std::process::ChildStdout>,
}

impl ServedWorld {
    fn new(script: &str, options: &[&str]) -> Self {
        let world = World::with_agent(script);
        let everything = world.path("");
        let mut command = world.confining(&["mcp", "--delegate", "--no-config"]);
        command
            .arg("--confine-write")
            .arg(everything)
            .args(options)
            .env("GEMINI_API_KEY", KEY);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self {
            world,
            child,
            stdin,
            answers,
        }
    }

    fn send(&mut self, tool: &str, arguments: &Value) {
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        writeln!(self.stdin.as_mut().unwrap(), "{call}").unwrap();
    }

    /// The answer to a call, as its text.
    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer:#}")).to_owned()
    }

    /// Closes the client's end, and returns the stderr of the server.
    fn leave(mut self) -> (World, String) {
        drop(self.stdin.take());
        let ended = self.child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        self.world.assert_nothing_is_left();
        (self.world, String::from_utf8(ended.stderr).unwrap())
    }
}

/// An agent that starts a server of its own, which allows everything, without the variables of the server above it. The agent of that
/// server writes its arguments to a file, and is told by a third server that it is too deep.
fn nesting_agent() -> String {
    let request = |arguments: Value| {
        let params = json!({"name": "delegate", "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
    };
    let request = request(task(&json!({"budget": {"turns": 1_000_000}})));
    let serve = |name: &str| {
        format!(
            r#"( echo '{request}'; while ! [ -s "$world/{name}" ]; do sleep 0.02; done ) | env -i PATH="$PATH" HOME="$HOME" \
  GEMINI_CLI_PATH="$GEMINI_CLI_PATH" TMPDIR="$TMPDIR" LAPIDARY_STATE_DIR="$LAPIDARY_STATE_DIR" GEMINI_CLI_TRUST_WORKSPACE=true \
  LAPIDARY_TEST_WORLD="$LAPIDARY_TEST_WORLD" '{LAPIDARY}' mcp --delegate --yolo --confine-write "$world" > "$world/{name}""#
        )
    };
    let (first, second) = (serve("first"), serve("second"));
    format!(
        r#"
world="$LAPIDARY_STATE_DIR/.."
init
case "$LAPIDARY_DEPTH" in
1) {first} ;;
2) echo "$LAPIDARY_BOUNDS" > "$world/bounds"; echo "$*" > "$world/arguments"
   {second} ;;
esac
say Done.
success
"#
    )
}

#[test]
fn a_server_below_a_server_allows_no_more_although_its_variables_were_removed() {
    for (options, is_wide) in [(&[][..], false), (&["--yolo"], true)] {
        let mut served = ServedWorld::new(&nesting_agent(), options);
        served.send("delegate", &task(&json!({"budget": {"turns": 5}})));
        let answer = served.answer();
        assert!(answer.contains("\"completed\""), "{answer}");
        let (world, _) = served.leave();
        let first = fs::read_to_string(world.path("first")).unwrap();
        let arguments = fs::read_to_string(world.path("arguments"));
        let arguments = arguments.unwrap_or_else(|_| panic!("{first}"));
        assert_eq!(arguments.contains("yolo"), is_wide, "{arguments}");
        let bounds = fs::read_to_string(world.path("bounds")).unwrap();
        let bounds: Value = serde_json::from_str(&bounds).unwrap();
        assert_eq!(bounds["settings"]["budget"], "turns=5", "{bounds:#}");
        let second = fs::read_to_string(world.path("second")).unwrap();
        assert!(
            second.contains("agents are 2 levels deep already"),
            "{second}"
        );
    }
}

#[test]
fn a_client_that_closes_its_end_or_dies_leaves_no_delegated_run() {
    let mut served = ServedWorld::new(PATIENT, &[]);
    served.send("delegate", &task(&json!({"wait_s": 0})));
    assert!(served.answer().contains("\"running\""));
    served.world.wait_for("working");
    served.leave();

    let mut served = ServedWorld::new(PATIENT, &[]);
    served.send("delegate", &task(&json!({})));
    served.world.wait_for("working");
    served.child.kill().unwrap(); // the server itself is killed in the middle of a call
    served.child.wait().unwrap();
    served.world.assert_nothing_is_left();
}

#[test]
fn credentials_are_in_no_recording_no_arguments_no_bounds_and_no_output() {
    let script = r#"
world="$LAPIDARY_STATE_DIR/.."
cat /proc/[0-9]*/cmdline 2> /dev/null > "$world/cmdlines"
echo "$LAPIDARY_BOUNDS" > "$world/bounds"
init; say Done.; success
"#;
    let mut served = ServedWorld::new(script, &["--deny", "execute"]);
    served.send("delegate", &task(&json!({"agent": "gemini"})));
    let answer = served.answer();
    served.send("delegate_status", &json!({}));
    let status = served.answer();
    let (world, told) = served.leave();
    let has_key = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(KEY);
    assert!(
        ![&answer, &status, &told]
            .iter()
            .any(|it| has_key(it.as_bytes()))
    );
    let mut checked = 0;
    let mut open = vec![
        world.path("state"),
        world.path("cmdlines"),
        world.path("bounds"),
    ];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()));
        } else if let Ok(bytes) = fs::read(&path) {
            assert!(!has_key(&bytes), "{}", path.display());
            checked += usize::from(!bytes.is_empty());
        }
    }
    assert!(checked >= 4, "{checked} files were checked");
}
