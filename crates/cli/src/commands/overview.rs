//! `lapidary` without arguments: the agents and runs that exist, and the next steps.

use std::io::{self, Write as _};
use std::time::SystemTime;

use lapidary::engine::agents::{AgentSpec, KNOWN};
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::recording::ListedRun;
use lapidary::render::plain::sanitize;
use lapidary::sessions::age;

use super::runs::common::RunStore;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;
use lapidary::directories;

/// How many runs are listed.
const RECENT: usize = 3;

/// Where the second column begins.
const INDENT: usize = 9;

pub(super) fn run(out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = out.invocation.current_dir().unwrap_or_default();
    let environment = directories::surroundings(out.invocation.all_variables(), here);
    let agents = KnownAgents::find_agents(&environment);
    writeln!(
        out,
        "Lapidary runs coding agents and keeps what they did.\n"
    )?;
    agents.print_agents(out)?;
    let runs = recent_runs(&out.invocation);
    if !runs.is_empty() {
        print_section("Runs", &runs, out)?;
    }
    print_section("Next", &next_steps(&agents), out)?;
    writeln!(out, "`lapidary --help` lists all commands.")?;
    Ok(CommandExit::Success)
}

/// The newest runs, a line each. A directory that cannot be read has none.
fn recent_runs(invocation: &Invocation) -> Vec<String> {
    let runs = RunStore::open(None, invocation).and_then(|store| store.list_runs());
    let runs = runs.unwrap_or_default().into_iter().take(RECENT);
    let line = |run: ListedRun| {
        let agent = run.info.agent.unwrap_or_default();
        let outcome = run.info.outcome.map(|outcome| outcome.to_string());
        let outcome = outcome.unwrap_or_else(|| run.info.state.to_string());
        let age = age(Some(run.began_ms), SystemTime::now());
        let line = format!("{}  {agent}, {outcome}, {age}", run.info.id);
        sanitize(&line).into_owned()
    };
    runs.map(line).collect()
}

/// The known agents, by whether their program is there. Nothing is started to find out.
struct KnownAgents {
    installed: Vec<String>,
    first: Option<&'static str>,
    missing: Vec<&'static str>,
}

impl KnownAgents {
    fn find_agents(environment: &SearchEnvironment) -> Self {
        let mut found = Self {
            installed: Vec::new(),
            first: None,
            missing: Vec::new(),
        };
        for known in KNOWN {
            match installed_version(known, environment) {
                Some(shown) => {
                    found.first.get_or_insert(known.name);
                    found.installed.push(shown);
                }
                None => found.missing.push(known.name),
            }
        }
        found
    }

    fn print_agents(&self, out: &mut Printer) -> io::Result<()> {
        let mut lines = Vec::new();
        if self.installed.is_empty() {
            lines.push("none is installed yet".to_owned());
        } else {
            lines.push(self.installed.join(", "));
        }
        lines.push(format!("not installed: {}", self.missing.join(", ")));
        print_section("Agents", &lines, out)
    }
}

/// The agent's name and version, if it is installed.
fn installed_version(known: &AgentSpec, environment: &SearchEnvironment) -> Option<String> {
    let found = known.capabilities(environment);
    let version = found
        .version
        .map(|version| format!(" {}", sanitize(&version)));
    let name = format!("{}{}", known.name, version.unwrap_or_default());
    found.installed.then_some(name)
}

fn next_steps(agents: &KnownAgents) -> [String; 3] {
    let run = match agents.first {
        Some("gemini") => "lapidary run 'explain this project'".to_owned(),
        Some(agent) => format!("lapidary run --agent {agent} 'explain this project'"),
        None => "lapidary run --agent demo hello      an agent on a script, nothing to install"
            .to_owned(),
    };
    let look = match agents.first {
        Some(_) => "lapidary sessions browse             what agents did here before",
        None => "npm install -g @google/gemini-cli    an agent to begin with",
    };
    [
        run,
        look.to_owned(),
        "lapidary doctor                      what works, and what is missing".to_owned(),
    ]
}

/// A heading with lines beside it.
fn print_section(heading: &str, lines: &[String], out: &mut Printer) -> io::Result<()> {
    for (at, line) in lines.iter().enumerate() {
        let heading = if at == 0 { heading } else { "" };
        writeln!(out, "{heading:INDENT$}{line}")?;
    }
    writeln!(out)
}
