//! `doctor --agent … --prove`: the cards of agents that speak ACP, well, badly or not at all, and of real ones.

mod agents;
mod hostile;
mod peers;

use std::process::Stdio;

use lapidary::vocab::Checkup;
use serde_json::Value;

use super::{SECRET, Visit};
use crate::run::world::World;
use crate::support::{lapidary, run};

/// A visit to the agent of this command line.
fn visit(world: &World, agent: &str, args: &[&str]) -> Visit {
    let mut command = world.lapidary(&[&["doctor", "--agent", agent], args].concat());
    command.env("GEMINI_API_KEY", SECRET);
    Visit::of(command)
}

/// The checks of the card, each with its state.
fn states(visit: &Visit) -> Vec<String> {
    let checkup = visit.checkup();
    let checks = checkup["checks"].as_array().unwrap().iter();
    let word = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    checks
        .map(|check| format!("{} {}", word(check, "name"), word(check, "state")))
        .filter_map(|line| line.strip_prefix("acp_").map(str::to_owned))
        .collect()
}

/// What one check of the card says.
fn message(visit: &Visit, name: &str) -> String {
    let checkup = visit.checkup();
    let mut checks = checkup["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["name"] == name);
    let check = check.unwrap_or_else(|| panic!("no {name}: {visit:?}"));
    check["message"].as_str().unwrap().to_owned()
}

/// The card of a report that fits the schema.
fn card(visit: &Visit) -> Value {
    let schema = run(&["schema", "doctor"]).stdout;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let checkup = visit.checkup();
    let valid = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = valid.iter_errors(&checkup).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{checkup}");
    let read: Checkup = serde_json::from_value(checkup.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), checkup);
    checkup["card"].clone()
}

/// Nothing of an agent whose script has noted its processes in `pids` is alive.
fn assert_all_gone(world: &World) {
    let pids = std::fs::read_to_string(world.path("pids")).unwrap();
    let pids: Vec<_> = pids.split_whitespace().collect();
    assert!(!pids.is_empty());
    for pid in pids {
        let alive = std::path::Path::new("/proc").join(pid).exists();
        assert!(!alive, "{pid} is alive");
    }
}

/// Replaces the durations in a text, which differ between runs.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = match line.rsplit_once(" (") {
            Some((start, end)) if end.ends_with(" s)") => format!("{start} (T)"),
            _ => line.to_owned(),
        };
        let words = line.split(' ').collect::<Vec<_>>();
        let mut shown: Vec<&str> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let is_time = words.get(at + 1) == Some(&"ms") && word.parse::<u64>().is_ok();
            shown.push(if is_time { "N" } else { word });
        }
        out += &shown.join(" ");
        out.push('\n');
    }
    out
}

fn real(args: &[&str], environment: Vec<(std::ffi::OsString, std::ffi::OsString)>) -> Visit {
    let all = [
        &["doctor", "--prove", "--format", "json", "--timeout", "60"],
        args,
    ]
    .concat();
    let mut command = lapidary(all);
    command.env_clear().envs(environment).stdin(Stdio::null());
    // Every wait of it is bounded, but not by a deadline for what takes milliseconds.
    let output = command.output().unwrap();
    Visit {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
