//! The real Gemini CLI 0.61 resumes, loads and cleans up between before and after.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime};

use lapidary_sessions::vault::{Guard, GuardRequest, Vault, recover, session_files};
use lapidary_standin::api::{FakeApi, Script};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use serde_json::{Value, json};

use super::chats::shown;

struct Real {
    world: GeminiWorld,
    api: FakeApi,
}

impl Real {
    fn new() -> Self {
        let script = (0..12).fold(Script::new(), |script, n| {
            script.stream(&*format!("Answer {n}."))
        });
        Self {
            world: GeminiWorld::new(),
            api: FakeApi::start_in_thread(script).unwrap(),
        }
    }

    fn command(&self) -> Command {
        self.world
            .command(GeminiVersion::V0_61_0, &self.api.base_url())
    }

    /// Runs the CLI; its exit code and its stdout.
    fn run(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = self.command().args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), text)
    }

    fn ask(&self, prompt: &str) {
        let (code, text) = self.run(&["-p", prompt]);
        assert_eq!(code, Some(0), "{text}");
    }

    fn chats(&self) -> PathBuf {
        let tmp = self.world.home().join(".gemini/tmp");
        let mut folders = fs::read_dir(tmp)
            .unwrap()
            .map(|it| it.unwrap().path().join("chats"));
        folders.find(|folder| folder.is_dir()).unwrap()
    }

    fn files(&self) -> Vec<PathBuf> {
        session_files(&self.chats()).0
    }

    /// The session whose file says these words.
    fn session_of(&self, words: &str) -> (String, String) {
        for path in self.files() {
            let text = fs::read_to_string(&path).unwrap();
            if text.contains(words) {
                let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
                return (header["sessionId"].as_str().unwrap().to_owned(), text);
            }
        }
        panic!("no session says `{words}`: {:?}", self.files());
    }

    /// Gives all sessions names of long ago, as if a minute had passed.
    fn backdate(&self) {
        for path in self.files() {
            let name = path.file_name().unwrap().to_str().unwrap();
            let old = name.replacen("session-20", "session-19", 1);
            fs::rename(&path, path.with_file_name(old)).unwrap();
        }
    }

    fn vault(&self) -> Vault {
        Vault::open(self.world.root().join("vault"))
    }

    fn guard(&self, id: &str) -> Guard {
        let request = GuardRequest {
            chats: vec![self.chats()],
            now: SystemTime::now(),
            resume: Some(id.to_owned()),
            retention: None,
        };
        Guard::before(&self.vault(), request).unwrap()
    }

    /// Loads a session over ACP and prompts it, as another client would. Returns the answer to the load.
    fn load(&self, id: &str, prompt: &str) -> Value {
        let mut command = self.command();
        command
            .arg("--acp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut ask = |n: u64, method: &str, params: Value| {
            let request = json!({"jsonrpc": "2.0", "id": n, "method": method, "params": params});
            writeln!(stdin, "{request}").unwrap();
            answer(&mut lines, n)
        };
        ask(
            0,
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": {}}),
        );
        let project = self.world.project();
        let loaded = ask(
            1,
            "session/load",
            json!({"sessionId": id, "cwd": project, "mcpServers": []}),
        );
        if loaded.get("result").is_some() {
            let prompt = json!([{"type": "text", "text": prompt}]);
            ask(
                2,
                "session/prompt",
                json!({"sessionId": id, "prompt": prompt}),
            );
        }
        drop(stdin);
        let _ = child.kill();
        child.wait().unwrap();
        loaded
    }

    /// Every message is in a file that the CLI lists, survives its next starts, and can be resumed.
    fn assert_all_there(&self, id: &str, messages: &[String]) {
        let (_, listed) = self.run(&["--list-sessions"]);
        assert!(listed.contains(id), "{listed} {:?}", self.files());
        self.ask("something else");
        let (_, text) = self.session_of(&messages[messages.len() - 1]);
        let now = shown(&text);
        for message in messages {
            assert!(now.contains(message), "{message}: {now:?}");
        }
        let (code, _) = self.run(&["-r", id, "-p", "and again"]);
        assert_eq!(code, Some(0), "{:?}", self.files());
        let (_, text) = self.session_of("and again");
        assert!(text.contains(id));
    }
}

fn answer(lines: &mut BufReader<ChildStdout>, n: u64) -> Value {
    loop {
        let mut line = String::new();
        assert!(
            lines.read_line(&mut line).unwrap() > 0,
            "it ended without an answer"
        );
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"] == n && message.get("method").is_none() {
            return message;
        }
    }
}

/// The first reproduction: without a vault the next start deletes the conversation.
#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and `cli` tests the same through the command: run `cargo xtask test --full`"
)]
fn a_headless_resume_in_a_later_minute_loses_nothing() {
    let real = Real::new();
    real.ask("first question");
    real.backdate();
    let (id, before) = real.session_of("first question");
    let guard = real.guard(&id);
    let (code, _) = real.run(&["-r", &id, "-p", "second question"]);
    assert_eq!(code, Some(0));
    assert_eq!(real.files().len(), 2, "the CLI makes its stub");
    guard.after(SystemTime::now()).unwrap();
    assert_eq!(real.files().len(), 1);
    let (_, text) = real.session_of("second question");
    assert!(shown(&text).len() >= shown(&before).len() + 2);
    real.assert_all_there(&id, &shown(&text));
}

/// The second: a load over ACP, in the minute in which the session was made.
#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and `cli` tests the same through the command: run `cargo xtask test --full`"
)]
fn a_load_over_acp_in_the_same_minute_loses_nothing() {
    let real = Real::new();
    real.ask("first question");
    let (id, before) = real.session_of("first question");
    let guard = real.guard(&id);
    let loaded = real.load(&id, "second question");
    assert!(loaded.get("result").is_some(), "{loaded}");
    guard.after(SystemTime::now()).unwrap();
    let (_, text) = real.session_of("second question");
    assert!(shown(&text).len() >= shown(&before).len() + 2);
    real.assert_all_there(&id, &shown(&text));
}

/// The third: another client resumes a session while the guard looks after a second one, and the CLI cleans up.
#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and `cli` tests the same through the command: run `cargo xtask test --full`"
)]
fn what_another_client_destroys_meanwhile_is_put_back() {
    let real = Real::new();
    real.ask("first question");
    real.backdate();
    let (id, before) = real.session_of("first question");
    let guard = real.guard("another");
    real.load(&id, "second question");
    // The next start, which only lists.
    let (_, listed) = real.run(&["--list-sessions"]);
    assert!(!listed.contains(&id), "the CLI deletes it: {listed}");
    let repair = guard.after(SystemTime::now()).unwrap();
    let (_, text) = real.session_of("first question");
    assert_eq!(text, before, "{repair:?}");
    real.assert_all_there(&id, &shown(&before));
}

/// Without a guard: messages that a load in the same minute hid are still in the file, if no CLI was started since.
#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and `cli` tests the same through the command: run `cargo xtask test --full`"
)]
fn what_a_load_in_the_same_minute_hid_is_recovered() {
    let real = Real::new();
    // The minute must not change between the two.
    let seconds = || SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() % 60;
    while seconds() > 45 {
        std::thread::sleep(Duration::from_millis(200));
    }
    real.ask("first question");
    let (id, before) = real.session_of("first question");
    let loaded = real.load(&id, "second question");
    assert!(loaded.get("error").is_some(), "{loaded}");
    let (_, clobbered) = real.session_of("first question");
    assert_eq!(shown(&clobbered).len(), 1, "only the context is left");
    let chats = [real.chats()];
    let depth = recover::ReadingDepth::Hidden;
    let plan = recover::plan_session(&real.vault(), &chats, &id, depth).unwrap();
    assert_eq!(plan.causes, [recover::HiddenCause::Clobbered]);
    plan.apply(&real.vault(), SystemTime::now()).unwrap();
    real.assert_all_there(&id, &shown(&before));
}
