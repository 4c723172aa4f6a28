//! The home and the project in which a command of a document runs, and what the document assumes to be there.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use lapidary_standin::api::{FakeApi, Script, ScriptRule, Turn};
use lapidary_testkit::recorded::RecordedHome;
use lapidary_testkit::shown_commands::calls;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{
    DEADLINE, Ran, ended, lapidary, lines_of, on_a_terminal, output, program, root, started,
};

const FIXTURES: &str = "fixtures/gemini-0.61.0/sessions";
/// Wide enough for every line that a document shows.
const COLUMNS: u16 = 250;

/// An agent that speaks ACP. It carries out its first argument, a statement of Python, and answers each prompt with the answer.
const ACP_AGENT: &str = r#"
import json, sys
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def update(name, **fields):
    send(method="session/update", params={"sessionId": "s-1", "update": {"sessionUpdate": name, **fields}})
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    result = {}
    if message["method"] == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": True}}}
    if message["method"] == "session/new": result = {"sessionId": "s-1"}
    if message["method"] == "session/prompt":
        exec(sys.argv[1])
        update("agent_message_chunk", content={"type": "text", "text": '{"verdict": "approve", "findings": []}'})
        result = {"stopReason": "end_turn"}
    send(id=message["id"], result=result)
"#;

/// The stream of an agent, whose answer fits the output schema of the documents.
const STREAM: &str = r#"{"type":"init","timestamp":"2026-01-01T00:00:00.000Z","session_id":"s-1","model":"gemini-2.5-flash"}
{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","role":"assistant","content":"{\"verdict\": \"approve\", \"findings\": []}","delta":true}
{"type":"result","timestamp":"2026-01-01T00:00:00.000Z","status":"success","stats":{"total_tokens":3,"input_tokens":1,"output_tokens":2,"models":{"gemini-2.5-flash":{"total_tokens":3,"input_tokens":1,"output_tokens":2,"cached":0,"input":1}}}}
"#;

pub(super) struct DocumentWorld {
    home: RecordedHome,
    api: FakeApi,
    is_trusted: RefCell<bool>,
    /// Names of the documents, with those of this world.
    names: RefCell<Vec<(&'static str, String)>>,
}

impl DocumentWorld {
    /// A home, a project that is a repository, and agents on PATH.
    pub(super) fn new() -> Self {
        let done = Turn::call("complete_task", json!({"result": "Done."}));
        let places = json!([{"FilePath": "a.txt", "Reasoning": "It is one.", "KeySymbols": ["a"]}]);
        let report = json!({"report": {"SummaryOfFindings": "None.", "ExplorationTrace": ["ls"], "RelevantLocations": places}});
        let found = ScriptRule::new(Turn::call("complete_task", report)).body("RelevantLocations");
        let script = Script::new().rule(found).rule(ScriptRule::new(done));
        let world = Self {
            home: RecordedHome::new(),
            api: FakeApi::start_in_thread(script).unwrap(),
            is_trusted: RefCell::new(true),
            names: RefCell::default(),
        };
        for folder in ["bin", "tmp"] {
            fs::create_dir(world.path(folder)).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_lapidary"), world.path("bin/lapidary")).unwrap();
        symlink(root().join("fixtures"), world.path("work/project/fixtures")).unwrap();
        world.write("agent.py", ACP_AGENT);
        world.write("stream", STREAM);
        world.gemini("true");
        world.acp_agent("bin/claude-agent-acp", "pass");
        for agent in ["claude", "codex"] {
            world.program(&format!("bin/{agent}"), "echo \"$@\"");
        }
        world.repository("work/project");
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.root().join(name)
    }

    /// Writes a file: `home/…`, `work/project/…`, or beside them.
    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Makes a program of a shell script. Another process writes it: the kernel executes no file that a process has open for writing.
    fn program(&self, name: &str, script: &str) {
        let mut shell = program("sh");
        shell
            .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
            .arg(self.path(name));
        let made = output(shell, format!("#!/bin/sh\n{script}\n").as_bytes());
        assert!(made.status.success(), "{made:?}");
    }

    fn acp_agent(&self, name: &str, statement: &str) {
        let agent = self.path("agent.py");
        let script = format!("exec python3 -I -S {} '{statement}'", agent.display());
        self.program(name, &script);
    }

    /// A Gemini CLI that runs a command of the shell for each prompt of its command line.
    fn gemini(&self, command: &str) {
        self.acp_agent("bin/acp", "pass");
        let root = self.home.root().display().to_string();
        self.program(
            "bin/gemini",
            &format!(
                "case \"$*\" in *--version*) echo 0.61.0;; *mcp\\ add*) ;; *--acp*) exec {root}/bin/acp;; *) {command}; cat {root}/stream;; esac"
            ),
        );
    }

    fn repository(&self, name: &str) {
        let script = "git init -q -b main && git config user.name a && git config user.email a@example.org && \
            git commit -q --allow-empty -m one && git update-ref refs/remotes/origin/main HEAD";
        fs::create_dir_all(self.path(name)).unwrap();
        let mut shell = program("sh");
        shell.args(["-c", script]);
        self.enter(&mut shell);
        shell.current_dir(self.path(name));
        let made = started(shell, b"");
        assert!(made.status.success(), "{made:?}");
    }

    /// Runs a command line that is expected to succeed, and gives its output.
    fn succeeded(&self, line: &str) -> String {
        let ran = self.run(line, false);
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
        ran.stdout
    }

    /// Runs a command line as a document shows it: in this process if it is one plain call, else by a shell or on a terminal.
    pub(super) fn run(&self, line: &str, is_on_a_terminal: bool) -> Ran {
        let mut line = line.to_owned();
        for (name, own) in self.names.borrow().iter() {
            line = line.replace(name, own);
        }
        let mut calls = calls(&line);
        let is_plain = calls.len() == 1 && !needs_a_shell(&line);
        let mut command = if is_plain {
            lapidary(calls.remove(0).into_iter().skip(1))
        } else {
            let mut shell = program("bash");
            shell.args(["-o", "pipefail", "-c", &line]);
            shell
        };
        self.enter(&mut command);
        if is_on_a_terminal {
            return on_a_terminal(&command, COLUMNS);
        }
        let ran = if is_plain {
            output(command, b"")
        } else {
            started(command, b"")
        };
        Ran {
            code: ran.status.code(),
            stdout: String::from_utf8(ran.stdout).unwrap(),
            stderr: String::from_utf8(ran.stderr).unwrap(),
        }
    }

    /// Starts a server as a document shows it, on a free port or in a directory of this world, and ends it once it has printed its
    /// first line.
    pub(super) fn run_server(&self, line: &str) -> Ran {
        let line = line.split(" # ").next().unwrap_or_default();
        let own = self.home.root().display().to_string();
        let line = line.replace("/run/user/1000", &own);
        let has_address = line.contains("--listen");
        let address = if has_address {
            ""
        } else {
            " --listen 127.0.0.1:0"
        };
        fs::create_dir_all(self.path("home/projects")).unwrap();
        let mut shell = program("bash");
        shell.args(["-c", &format!("exec {line}{address}")]);
        self.enter(&mut shell);
        shell.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut server = shell.stderr(Stdio::piped()).spawn().unwrap();
        let first = lines_of(&mut server).recv_timeout(DEADLINE);
        kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGTERM).unwrap();
        let ended = ended(server);
        Ran {
            code: ended.status.code(),
            stdout: first.unwrap(),
            stderr: String::from_utf8(ended.stderr).unwrap(),
        }
    }

    fn enter(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap();
        let all = std::iter::once(self.path("bin")).chain(std::env::split_paths(&path));
        let trust = ("GEMINI_CLI_TRUST_WORKSPACE", "true");
        command
            .current_dir(self.home.project())
            .env_clear()
            .env("PATH", std::env::join_paths(all).unwrap())
            .env("HOME", self.home.home())
            .env("TMPDIR", self.path("tmp"))
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb")
            .env("GEMINI_API_KEY", "k")
            .env("GOOGLE_GEMINI_BASE_URL", self.api.base_url())
            .envs(self.is_trusted.borrow().then_some(trust));
    }

    /// A line without what differs from machine to machine and from run to run: places, ids, times, approximate numbers, and the
    /// width of columns.
    pub(super) fn stable(&self, line: &str) -> String {
        let mut line = line.to_owned();
        let project = self.home.project().display().to_string();
        let home = self.home.home().display().to_string();
        for (place, name) in [
            (project.as_str(), "~/project"),
            (&home, "~"),
            ("/home/me/shop", "~/project"),
            ("/home/me/project", "~/project"),
            ("/home/me", "~"),
            ("/tmp/weather", "/tmp/project"),
        ] {
            line = line.replace(place, name);
        }
        let is_approximate = line.contains("about ");
        let words = line.split_whitespace().map(|word| {
            let digits = word.chars().filter(char::is_ascii_digit).count();
            let is_id = digits > 7 && !word.contains('/');
            match (is_id, is_approximate && digits > 0) {
                (true, _) => "ID",
                (false, true) => "0",
                (false, false) => word,
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn with_a_wrong_hook(&self) {
        self.write(
            "work/project/.gemini/settings.json",
            "{\n  \"hooks\": {\n    \"BeforeTool\": [\n      {\n       \"matcher\": \"shell_execute\",\n       \"hooks\": [{ \"type\": \"command\", \"command\": \"./check.sh\" }]\n      }\n    ]\n  }\n}\n",
        );
        self.program("work/project/check.sh", "cat\necho '{}'");
    }

    pub(super) fn with_hooks(&self) {
        let hook = json!({"type": "command", "command": "cat > /dev/null; echo '{}'"});
        let hooks = json!({"BeforeTool": [{"hooks": [hook]}], "BeforeAgent": [{"hooks": [hook]}], "AfterTool": [{"hooks": [hook]}]});
        let settings = json!({"hooks": hooks});
        self.write("work/project/.gemini/settings.json", &settings.to_string());
        let call = json!({"tool_name": "read_file", "tool_input": {"file_path": "a.txt"}});
        self.write("work/project/call.json", &call.to_string());
    }

    pub(super) fn with_hooks_and_a_run(&self) {
        self.with_hooks();
        self.with_a_recorded_demo("20261116T080000-1f2e3d4c");
    }

    fn with_a_recorded_demo(&self, run: &str) {
        self.succeeded(&format!(
            "lapidary run --agent demo --format result --run-id {run} hello"
        ));
    }

    pub(super) fn with_recorded_runs(&self) {
        self.with_a_recorded_demo("20261117T081502-9f3c21aa");
    }

    pub(super) fn with_a_recorded_dialogue(&self) {
        self.succeeded(
            "lapidary run --agent claude --format result --record-dir tests --run-id login hello",
        );
    }

    pub(super) fn with_rules(&self) {
        let page = fs::read_to_string(root().join("docs/permissions.md")).unwrap();
        let (_, rules) = page.split_once("```toml\n").unwrap();
        let (rules, _) = rules.split_once("```").unwrap();
        self.write("work/project/lapidary.toml", rules);
        self.with_recorded_runs();
    }

    pub(super) fn with_an_agent_that_does_not_ask(&self) {
        self.acp_agent(
            "work/project/my-agent",
            "update(\"tool_call\", toolCallId=\"c\", title=\"cat secret.txt\", kind=\"execute\", status=\"completed\", rawInput={\"command\": \"cat secret.txt\"})",
        );
    }

    pub(super) fn with_an_agent_that_writes_a_git_hook(&self) {
        self.gemini("mkdir -p .git/hooks; echo true > .git/hooks/pre-commit");
    }

    pub(super) fn with_agents(&self) {
        self.write(
            "work/project/.gemini/agents/deploy.md",
            "---\nname: deploy\ndescription: Deploys\n---\nDeploy.\n",
        );
        self.write(
            "work/project/.gemini/agents/review.md",
            "---\nname: review\ndescription: Reviews\ntools:\n  - read_fil\n---\nReview.\n",
        );
    }

    pub(super) fn with_a_reviewer(&self) {
        self.write(
            "home/.gemini/agents/reviewer.md",
            "---\nname: reviewer\ndescription: Reviews\n---\nReview.\n",
        );
    }

    pub(super) fn with_output_schemas(&self) {
        let page = fs::read_to_string(root().join("docs/output-schema.md")).unwrap();
        let (_, schema) = page.split_once("```json\n").unwrap();
        let (schema, _) = schema.split_once("```").unwrap();
        self.write("work/project/review.schema.json", schema);
        self.write(
            "work/project/s.json",
            r#"{"type": "object", "properties": {"a": {"type": "array", "unevaluatedItems": false}}}"#,
        );
    }

    pub(super) fn with_a_fleet(&self) {
        self.repository("home/src/app");
        let home = self.home.home();
        let settings = format!("[fleet]\nrepositories = [\"{}/src/*\"]\n", home.display());
        self.write("home/.config/lapidary/lapidary.toml", &settings);
        self.gemini("echo fixed > fixed.txt");
    }

    pub(super) fn with_a_ticket_that_has_run(&self) {
        self.with_a_fleet();
        let printed =
            self.succeeded("lapidary fleet submit 'fix the failing test' --repo ~/src/app");
        let printed: Value = serde_json::from_str(&printed).unwrap();
        self.succeeded("lapidary fleet work --drain");
        let ticket = printed["ticket"].as_str().unwrap().to_owned();
        self.names
            .borrow_mut()
            .push(("1hc8k3x9e2r7m4qz6t0w", ticket));
    }

    pub(super) fn with_everything_that_a_text_names(&self) {
        self.with_a_ticket_that_has_run();
        self.with_rules();
        self.with_a_reviewer();
        self.with_two_sessions();
        self.with_a_recorded_dialogue();
        self.succeeded("lapidary translate tests/login > events.jsonl");
        let own = self.names.borrow()[0].1.clone();
        let run = "20261117T081502-9f3c21aa".to_owned();
        self.names.borrow_mut().extend([
            ("TICKET", own),
            ("replay ID", format!("replay {run}")),
            ("export ID", "export 3ebcaa19".to_owned()),
            ("--to DIR", "--to archive".to_owned()),
            ("NAME", "claude".to_owned()),
            ("RULES", "lapidary.toml".to_owned()),
        ]);
    }

    pub(super) fn with_skills(&self) {
        *self.is_trusted.borrow_mut() = false;
        for (file, name) in [
            ("home/.gemini/skills/reviewer/SKILL.md", "reviewer"),
            ("home/.gemini/skills/pdf/skill.md", "pdf"),
            ("work/project/.gemini/skills/deploy/SKILL.md", "deploy"),
        ] {
            let text = format!("---\nname: {name}\ndescription: Does {name}\n---\nDo it.\n");
            self.write(file, &text);
        }
    }

    pub(super) fn with_wrong_settings(&self) {
        *self.is_trusted.borrow_mut() = false;
        self.write(
            "home/.gemini/settings.json",
            "{\n  // mine\n  \"skills\": {\n    \"disabld\": [\"pdf\"]\n  }\n}\n",
        );
        self.write("work/project/.gemini/settings.json", "{}");
    }

    /// A session whose messages its file hides: Gemini CLI loaded it in the minute of its creation.
    pub(super) fn with_a_hidden_conversation(&self) {
        self.chat("acp-wiped-by-same-minute-load", "27-4ee81f5b");
    }

    pub(super) fn with_a_lost_session(&self) {
        self.chat(
            "full-with-tools.project__chats__session-2026-11-15T18-25-3ebcaa19",
            "25-3ebcaa19",
        );
        self.succeeded("lapidary sessions vault add");
        let file = "home/.gemini/tmp/project/chats/session-2026-11-15T18-25-3ebcaa19.jsonl";
        fs::remove_file(self.path(file)).unwrap();
    }

    pub(super) fn with_two_sessions(&self) {
        self.with_a_hidden_conversation();
        self.chat(
            "full-with-tools.project__chats__session-2026-11-15T18-25-3ebcaa19",
            "25-3ebcaa19",
        );
    }

    pub(super) fn with_a_session_that_will_be_deleted(&self) {
        for minute in ["28-55d4abd6", "30-55d4abd6"] {
            let name = format!("resume-loss-before.session-2026-11-15T18-{minute}");
            self.chat(&name, minute);
        }
    }

    pub(super) fn with_a_session_of_claude(&self) {
        self.copy(
            "fixtures/sessions/claude-2.1.312/text/projects",
            "home/.claude/projects",
        );
        let file = "home/.claude/projects/-tmp-project/c1a0de00-0000-4000-8000-000000000001.jsonl";
        let text = fs::read_to_string(self.path(file)).unwrap();
        let project = self.home.project().display().to_string();
        self.write(file, &text.replace("/tmp/project", &project));
    }

    pub(super) fn with_a_deleted_session_of_claude(&self) {
        self.with_a_session_of_claude();
        self.succeeded("lapidary sessions vault add --agent all");
        fs::remove_dir_all(self.path("home/.claude/projects/-tmp-project")).unwrap();
        fs::create_dir(self.path("home/.claude/projects/-tmp-project")).unwrap();
    }

    pub(super) fn with_sessions_of_claude_and_codex(&self) {
        self.copy(
            "fixtures/sessions/claude-2.0.50/subagent/projects",
            "home/.claude/projects",
        );
        self.copy(
            "fixtures/sessions/codex-0.166.0/tools/sessions",
            "home/.codex/sessions",
        );
    }

    /// A session file of the fixtures among the sessions of the project. The end of its name is minute and id.
    fn chat(&self, fixture: &str, end: &str) {
        let text = fs::read_to_string(root().join(format!("{FIXTURES}/{fixture}.jsonl"))).unwrap();
        self.home
            .chat(&format!("session-2026-11-15T18-{end}.jsonl"), &text);
    }

    fn copy(&self, from: &str, to: &str) {
        fs::create_dir_all(self.path(to).parent().unwrap()).unwrap();
        let mut copy = program("cp");
        copy.arg("-r").arg(root().join(from)).arg(self.path(to));
        assert!(output(copy, b"").status.success());
    }
}

/// Whether a line has signs, outside quotes, that only a shell understands.
fn needs_a_shell(line: &str) -> bool {
    let line = line.split(" # ").next().unwrap_or_default();
    let mut quote = None;
    line.chars().any(|letter| match quote {
        Some(mark) => {
            quote = (letter != mark).then_some(mark);
            false
        }
        None if "'\"".contains(letter) => {
            quote = Some(letter);
            false
        }
        None => "|<>&;*~$`".contains(letter),
    })
}
