//! Sums of tokens beside those of the real ccusage, on the same files.
#![cfg(feature = "peers")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[cfg(feature = "index")]
use lapidary_testkit::captures::fixtures;
use lapidary_testkit::gemini::peers;
use lapidary_vocab::stats::{Stats, TokenCounts};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::agent_captures::{children, scene, scenes};
#[cfg(feature = "index")]
use super::opencode::OpencodeHome;
#[cfg(feature = "index")]
use super::usage::opencode_providers;
use super::usage::{claude_home, qwen_providers, response, usage_in, usage_of};

/// The program, and a home for it that has nothing in it.
struct Ccusage {
    home: TempDir,
}

/// Tokens in its words: the parts of the prompt are counted apart.
#[derive(Debug, PartialEq, Eq)]
struct CcusageTokens {
    input: u64,
    cache_written: u64,
    cache_read: u64,
    output: u64,
    total: u64,
}

impl Ccusage {
    fn new() -> Self {
        let package = "node_modules/@ccusage/ccusage-linux-x64/bin/ccusage";
        let installed = peers().with_file_name("peers-usage").join(package);
        let home = tempfile::tempdir().unwrap();
        // npm does not make it executable.
        let program = home.path().join("ccusage");
        fs::copy(&installed, &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { home }
    }

    /// Its totals of a home of an agent, and their cost.
    fn totals(&self, agent: &str, place: &Path) -> (CcusageTokens, f64) {
        let out = Command::new(self.home.path().join("ccusage"))
            .args([agent, "daily", "--offline", "--json", "--timezone", "UTC"])
            .env_clear()
            .env("HOME", self.home.path())
            .env("CLAUDE_CONFIG_DIR", place)
            .env("CODEX_HOME", place)
            .env("QWEN_DATA_DIR", place)
            .env("OPENCODE_DATA_DIR", place)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{told}");
        let report: Value = serde_json::from_slice(&out.stdout).unwrap();
        let totals = &report["totals"];
        let count = |name: &str| totals[name].as_u64().unwrap_or_default();
        let tokens = CcusageTokens {
            input: count("inputTokens"),
            cache_written: count("cacheCreationTokens"),
            cache_read: count("cacheReadTokens"),
            output: count("outputTokens"),
            total: count("totalTokens"),
        };
        let cost = totals["totalCost"].as_f64();
        (tokens, cost.or(totals["costUSD"].as_f64()).unwrap())
    }
}

impl From<TokenCounts> for CcusageTokens {
    fn from(counts: TokenCounts) -> Self {
        Self {
            input: counts.input - counts.cached - counts.cache_written,
            cache_written: counts.cache_written,
            cache_read: counts.cached,
            output: counts.output,
            total: counts.total,
        }
    }
}

fn check(ccusage: &Ccusage, agent: &str, home: &Path) {
    check_counted(ccusage, agent, home, &usage_in(home));
}

fn check_counted(ccusage: &Ccusage, agent: &str, home: &Path, ours: &Stats) {
    let (theirs, cost) = ccusage.totals(agent, home);
    assert_eq!(
        CcusageTokens::from(ours.tokens),
        theirs,
        "{}",
        home.display()
    );
    let difference = (ours.cost.unwrap_or(0.0) - cost).abs();
    assert!(
        difference < 1e-9,
        "{cost} {:?}: {}",
        ours.cost,
        home.display()
    );
}

#[test]
fn sums_and_costs_of_captured_files_are_those_of_ccusage() {
    let ccusage = Ccusage::new();
    for scene in scenes("claude-") {
        check(&ccusage, "claude", &scene);
    }
    for scene in scenes("codex-") {
        check(&ccusage, "codex", &scene);
    }
}

#[cfg(feature = "index")]
#[test]
fn sums_and_costs_of_captured_sessions_of_opencode_are_those_of_ccusage() {
    let ccusage = Ccusage::new();
    for scene in scenes("opencode-") {
        let of = scene.strip_prefix(fixtures().join("sessions")).unwrap();
        let home = OpencodeHome::new(of.to_str().unwrap());
        let ours = usage_of(opencode_providers(&home));
        check_counted(&ccusage, "opencode", &home.path(), &ours);
    }
}

#[test]
fn ccusage_adds_cached_tokens_and_thoughts_of_qwen_code_though_its_totals_include_them() {
    let ccusage = Ccusage::new();
    let home = scene("qwen-0.24.0/tools");
    let chats = children(&home.join("projects/-tmp-project/chats"));
    let text = fs::read_to_string(&chats[0]).unwrap();
    let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let used = records.map(|record: Value| record["usageMetadata"].clone());
    let used: Vec<Value> = used.filter(Value::is_object).collect();
    let sum = |name: &str| {
        used.iter()
            .map(|it| it[name].as_u64().unwrap())
            .sum::<u64>()
    };
    let (cached, thoughts) = (sum("cachedContentTokenCount"), sum("thoughtsTokenCount"));
    assert!(cached > 0 && thoughts > 0);
    // The agent's own totals: a prompt with what was read from the cache, and an output with its thoughts.
    let (prompt, output, total) = (
        sum("promptTokenCount"),
        sum("candidatesTokenCount"),
        sum("totalTokenCount"),
    );
    assert_eq!(total, prompt + output);

    let ours = usage_of(qwen_providers(&home));
    assert_eq!(ours.tokens.total, total);
    assert_eq!((ours.tokens.input, ours.tokens.cached), (prompt, cached));
    let (theirs, cost) = ccusage.totals("qwen", &home);
    let added = CcusageTokens {
        input: prompt,
        cache_written: 0,
        cache_read: cached,
        output,
        total: total + cached + thoughts,
    };
    assert_eq!(theirs, added);
    // At their rates: a dollar for a million tokens that are read, five for those that are written.
    let twice = (cached as f64 + thoughts as f64 * 5.0) / 1e6;
    assert!(
        (ours.cost.unwrap() + twice - cost).abs() < 1e-9,
        "{cost} {:?}",
        ours.cost
    );
}

#[test]
fn sums_of_repeated_partial_and_aside_responses_are_those_of_ccusage() {
    let ccusage = Ccusage::new();
    let mut aside = response("m1", "r9", 50);
    aside["isSidechain"] = true.into();
    let mut without_request = response("m5", "", 5);
    without_request.as_object_mut().unwrap().remove("requestId");
    let mut without_id = response("m6", "r6", 6);
    without_id["message"].as_object_mut().unwrap().remove("id");
    let mut later = without_request.clone();
    later["timestamp"] = "2026-11-19T00:00:00.000Z".into();
    let progress = json!({
        "type": "progress", "timestamp": "2026-11-18T03:42:43.000Z", "uuid": "p",
        "data": { "type": "agent_progress", "message": response("m7", "r7", 7) },
    });
    let records = [
        response("m1", "r1", 3),
        response("m1", "r1", 40),
        response("m1", "r1", 7),
        response("m2", "r2", 1),
        response("m2", "r3", 2),
        without_request.clone(),
        without_request,
        later,
        without_id.clone(),
        without_id,
        progress,
    ];
    let fork = [response("m1", "r1", 40), response("m4", "r4", 4)];
    let home = claude_home(&[
        ("a.jsonl", &records),
        ("b.jsonl", &fork),
        ("a/subagents/agent-b.jsonl", &[aside]),
        ("agent-c.jsonl", &[response("m3", "r3", 3)]),
    ]);
    check(&ccusage, "claude", home.path());
}

/// A home of Codex CLI with one rollout for each list of records.
fn codex_home(rollouts: &[Vec<Value>]) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let day = home.path().join("sessions/2026/11/18");
    fs::create_dir_all(&day).unwrap();
    for (number, records) in rollouts.iter().enumerate() {
        let file: PathBuf = day.join(format!("rollout-2026-11-18T04-13-0{number}-{number}.jsonl"));
        let lines = records.iter().map(|record| format!("{record}\n"));
        fs::write(file, lines.collect::<String>()).unwrap();
    }
    home
}

fn record(second: u64, kind: &str, payload: &Value) -> Value {
    let time = format!("2026-11-18T04:13:{second:02}.000Z");
    json!({ "timestamp": time, "type": kind, "payload": payload })
}

fn tokens(input: u64, output: u64) -> Value {
    json!({
        "input_tokens": input, "cached_input_tokens": input / 2, "cache_write_input_tokens": 3, "output_tokens": output,
        "reasoning_output_tokens": 1, "total_tokens": input + output,
    })
}

fn count(second: u64, last: Option<Value>, total: Value) -> Value {
    let mut info = json!({ "total_token_usage": total });
    if let Some(last) = last {
        info["last_token_usage"] = last;
    }
    let payload = json!({ "type": "token_count", "info": info });
    record(second, "event_msg", &payload)
}

#[test]
fn sums_of_repeated_and_inherited_counts_of_codex_are_those_of_ccusage() {
    let ccusage = Ccusage::new();
    let meta = |id: &str| {
        let payload = json!({ "id": id, "cwd": "/tmp/project" });
        record(0, "session_meta", &payload)
    };
    let context = record(1, "turn_context", &json!({ "model": "gpt-5.4" }));
    let parent = vec![
        meta("a"),
        context.clone(),
        count(2, Some(tokens(100, 10)), tokens(100, 10)),
        count(3, Some(tokens(100, 10)), tokens(100, 10)), // the same total: a limit was told
        count(4, Some(tokens(150, 20)), tokens(250, 30)),
    ];
    let totals_only = vec![
        meta("e"),
        context.clone(),
        count(40, None, tokens(10, 1)),
        count(45, None, tokens(25, 3)),
    ];
    let fork = vec![
        meta("b"),
        context.clone(),
        count(2, Some(tokens(100, 10)), tokens(100, 10)),
        count(9, Some(tokens(60, 6)), tokens(160, 16)),
    ];
    let spawned = json!({
        "id": "c", "cwd": "/tmp/project", "source": { "subagent": { "thread_spawn": { "parent_thread_id": "a" } } },
    });
    let inherited = [
        count(21, Some(tokens(100, 10)), tokens(100, 10)),
        count(22, Some(tokens(150, 20)), tokens(250, 30)),
    ];
    let own = |total: u64| count(30, Some(tokens(total, 4)), tokens(250 + total, 34));
    let spawned = [record(20, "session_meta", &spawned), context.clone()]
        .into_iter()
        .chain(inherited.clone())
        .chain([own(40)]);
    let marked = json!({ "id": "d", "cwd": "/tmp/project", "forked_from_id": "a" });
    let marked = [record(20, "session_meta", &marked), context]
        .into_iter()
        .chain(inherited)
        .chain([own(41)]);
    let home = codex_home(&[
        parent,
        fork,
        spawned.collect(),
        marked.collect(),
        totals_only,
    ]);
    check(&ccusage, "codex", home.path());
}
