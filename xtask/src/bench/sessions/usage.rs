//! Sessions of Claude Code and Codex CLI: counted beside ccusage, and listed.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::contest::{SessionsContest, SessionsContestant};
use super::table::CommandLimits;
use super::{FLOOR, cpu_limit, floor};
use crate::peers;
use crate::workspace::Workspace;

const STATS: &str = "`sessions stats --all`";
const LIST: &str = "`sessions list --all --no-index`";
const CCUSAGE: &str = "`ccusage daily --offline` 20.0.24";

/// A home with sessions of both agents, half of them each.
#[derive(Debug, Clone, Copy)]
pub(super) struct AgentCorpus {
    pub(super) name: &'static str,
    pub(super) sessions: usize,
    pub(super) bytes_each: usize,
}

/// As many bytes as fit beside the other homes of the bench: 1 GB of the same files takes three and a half times as long.
pub(super) const COUNTED: AgentCorpus = AgentCorpus {
    name: "agents-counted",
    sessions: 1_400,
    bytes_each: 200_000,
};
/// Many sessions of 20 KB.
pub(super) const LISTED: AgentCorpus = AgentCorpus {
    name: "agents-listed",
    sessions: 5_000,
    bytes_each: 20_000,
};

/// Where the bench reads and writes.
pub(super) struct AgentBench<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) corpora: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) lapidary: &'a Path,
    pub(super) rounds: u32,
}

impl AgentBench<'_> {
    /// Counting tokens, beside ccusage.
    pub(super) fn stats_contest(&self) -> Result<SessionsContest> {
        let home = COUNTED.kept_in(self.corpora)?;
        let size = floor::size_of(&home)? / 1_000_000;
        let mut contest = SessionsContest::new(format!("Claude Code and Codex CLI, {size} MB"));
        contest.add_contestant(self.contestant(STATS, &["stats"], &home, CommandLimits::default()));
        contest.add_contestant(reading_contestant(&home)?);
        match self.ccusage() {
            Err(error) => contest.add_absent(CCUSAGE, format!("{error:#}")),
            Ok(program) => contest.add_contestant(SessionsContestant {
                what: CCUSAGE.to_owned(),
                command: [program.into()]
                    .into_iter()
                    .chain(
                        ["daily", "--offline", "--json", "--timezone", "UTC"].map(OsString::from),
                    )
                    .collect(),
                environment: self.environment(&home),
                ..SessionsContestant::default()
            }),
        }
        contest.hold_rounds(3 * self.rounds);
        Ok(contest)
    }

    /// Listing many sessions.
    pub(super) fn list_contest(&self) -> Result<SessionsContest> {
        let home = LISTED.kept_in(self.corpora)?;
        let over = "5,000 of 20 KB, of Claude Code and Codex CLI".to_owned();
        let mut contest = SessionsContest::new(over);
        let limits = CommandLimits {
            peak: Some(40_000_000),
            ..cpu_limit(200)
        };
        contest.add_contestant(self.contestant(LIST, &["list", "--no-index"], &home, limits));
        contest.add_contestant(reading_contestant(&home)?);
        contest.hold_rounds(3 * self.rounds);
        Ok(contest)
    }

    fn contestant(
        &self,
        what: &str,
        words: &[&str],
        home: &Path,
        limits: CommandLimits,
    ) -> SessionsContestant {
        let mut command: Vec<OsString> = vec![self.lapidary.into(), "sessions".into()];
        command.extend(words.iter().map(OsString::from));
        command.extend(["--all", "--format", "json"].map(OsString::from));
        SessionsContestant {
            what: what.to_owned(),
            command,
            environment: self.environment(home),
            limits,
            ..SessionsContestant::default()
        }
    }

    fn environment(&self, home: &Path) -> Vec<(&'static str, OsString)> {
        let place = |name: &str| self.folder.join(name).into();
        vec![
            ("HOME", place("user")),
            ("CLAUDE_CONFIG_DIR", home.join("claude").into()),
            ("CODEX_HOME", home.join("codex").into()),
            ("LAPIDARY_CACHE_DIR", place("cache")),
            ("LAPIDARY_STATE_DIR", place("state")),
        ]
    }

    /// The program as an executable: npm does not make it one.
    fn ccusage(&self) -> Result<PathBuf> {
        let installed = peers::install_usage(self.workspace)?;
        let installed = installed.join("node_modules/@ccusage/ccusage-linux-x64/bin/ccusage");
        let program = self.folder.join("ccusage");
        fs::copy(&installed, &program).context("cannot copy ccusage")?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        Ok(program)
    }
}

fn reading_contestant(home: &Path) -> Result<SessionsContestant> {
    let program = std::env::current_exe()?;
    Ok(SessionsContestant {
        what: FLOOR.to_owned(),
        command: vec![program.into(), "read-floor".into(), home.into()],
        ..SessionsContestant::default()
    })
}

impl AgentCorpus {
    /// The home, written unless it is there. Its content is the same every time.
    fn kept_in(self, corpora: &Path) -> Result<PathBuf> {
        let home = corpora.join(self.name);
        let stamp = home.join(".written");
        if !stamp.is_file() {
            eprintln!("bench: writing {}", self.name);
            let _ = fs::remove_dir_all(&home); // of an interrupted bench
            for number in 0..self.sessions / 2 {
                self.write_session(&home, number, true)?;
                self.write_session(&home, number, false)?;
            }
            fs::write(stamp, "")?;
        }
        floor::read_all(&home)?;
        Ok(home)
    }

    fn write_session(self, home: &Path, number: usize, is_claude: bool) -> Result<()> {
        let (project, day) = (number % 20, 1 + number % 28);
        let id = format!("{number:08x}-0000-4000-8000-{number:012x}");
        let (folder, name) = if is_claude {
            let folder = home.join(format!("claude/projects/-p-{project}"));
            (folder, format!("{id}.jsonl"))
        } else {
            let folder = home.join(format!("codex/sessions/2026/01/{day:02}"));
            (
                folder,
                format!("rollout-2026-01-{day:02}T10-00-00-{id}.jsonl"),
            )
        };
        fs::create_dir_all(&folder)?;
        let mut text = String::new();
        if !is_claude {
            let meta = json!({ "id": id, "cwd": format!("/p/{project}") });
            add_rollout_record(&mut text, number, 0, "session_meta", &meta);
        }
        let mut turn = 0;
        while text.len() < self.bytes_each {
            turn += 1;
            if is_claude {
                add_claude_turn(&mut text, &id, number, turn);
            } else {
                add_codex_turn(&mut text, number, turn);
            }
        }
        Ok(fs::write(folder.join(name), text)?)
    }
}

fn add_line(text: &mut String, record: &Value) {
    let _ = writeln!(text, "{record}");
}

/// Results of tools are most of a session.
fn tool_result(number: usize, step: usize) -> String {
    let line = "the parser checks the table of values and writes each line back\n";
    line.repeat([5, 30, 140, 300][(number + step) % 4] / 4)
}

fn add_claude_turn(text: &mut String, id: &str, number: usize, turn: usize) {
    let time = format!("2026-01-{:02}T10:{:02}:00.000Z", 1 + number % 28, turn % 60);
    let record = |kind: &str, name: String, message: Value| {
        json!({
            "parentUuid": null, "isSidechain": false, "type": kind, "message": message, "uuid": name, "timestamp": time,
            "requestId": format!("req-{name}"), "sessionId": id, "version": "2.1.312", "cwd": format!("/p/{}", number % 20),
        })
    };
    let prompt =
        json!({ "role": "user", "content": "check the table, and say what is wrong with it" });
    add_line(text, &record("user", format!("u{number}-{turn}"), prompt));
    for step in 0..8 {
        let name = format!("{number}-{turn}-{step}");
        let answer = json!({
            "id": format!("msg-{name}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
            "content": [
                { "type": "text", "text": "I read the file first, then I change the value in it." },
                { "type": "tool_use", "id": format!("call-{name}"), "name": "Read", "input": { "file_path": "/p/x.rs" } },
            ],
            "usage": { "input_tokens": 10 + step, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 20_000 + turn, "output_tokens": 200 + step },
        });
        add_line(text, &record("assistant", name.clone(), answer));
        let result = tool_result(number, step);
        let results = json!({ "role": "user", "content": [{ "tool_use_id": format!("call-{name}"), "type": "tool_result", "content": result }] });
        let mut results = record("user", format!("r{name}"), results);
        results["toolUseResult"] = json!({ "type": "text", "file": { "content": result } });
        add_line(text, &results);
    }
}

fn add_rollout_record(text: &mut String, number: usize, at: usize, kind: &str, payload: &Value) {
    let (minute, second) = (at / 60 % 60, at % 60);
    let day = 1 + number % 28;
    // As Codex CLI writes it; a map of `serde_json` would have its keys in another order.
    let milliseconds = number % 1000;
    let _ = writeln!(
        text,
        r#"{{"timestamp":"2026-01-{day:02}T10:{minute:02}:{second:02}.{milliseconds:03}Z","type":"{kind}","payload":{payload}}}"#
    );
}

fn add_codex_turn(text: &mut String, number: usize, turn: usize) {
    let at = turn * 9;
    let context = json!({ "cwd": format!("/p/{}", number % 20), "model": "gpt-5.1-codex" });
    add_rollout_record(text, number, at, "turn_context", &context);
    let prompt = json!({ "content": [{ "text": "check the table", "type": "input_text" }], "role": "user", "type": "message" });
    add_rollout_record(text, number, at, "response_item", &prompt);
    for step in 0..8 {
        let id = format!("call-{turn}-{step}");
        let call = json!({ "arguments": "{\"cmd\":\"cat x.rs\"}", "call_id": id, "name": "shell", "type": "function_call" });
        add_rollout_record(text, number, at + step, "response_item", &call);
        let output = json!({ "call_id": id, "output": tool_result(number, step), "type": "function_call_output" });
        add_rollout_record(text, number, at + step, "response_item", &output);
        let usage = |times: usize| json!({ "cached_input_tokens": 500 * times, "input_tokens": 9000 * times, "output_tokens": 300 * times, "reasoning_output_tokens": 0, "total_tokens": 9300 * times });
        let info =
            json!({ "last_token_usage": usage(1), "total_token_usage": usage(turn * 8 + step) });
        let count = json!({ "info": info, "rate_limits": null, "type": "token_count" });
        add_rollout_record(text, number, at + step + 1, "event_msg", &count);
    }
}
