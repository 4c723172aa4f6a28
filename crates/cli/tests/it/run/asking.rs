//! A permission prompt on a real pseudo-terminal.

use std::fs;
use std::process::Command;

use super::world::World;
use crate::support::{output, program, root};
use crate::usage::{assert_harmless, without_colours};

/// Types an answer each time that it is asked for one.
const ANSWERS: &str = r#"
import os, pty, sys
answers = sys.argv[1].split("|")
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
while True:
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        break
    if not shown:
        break
    os.write(1, shown)
    seen += shown
    while answers and b"(or type a reason): " in seen:
        seen = seen.split(b"(or type a reason): ", 1)[1]
        os.write(terminal, answers.pop(0).encode() + b"\n")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// The output of a run of the example agent on a terminal, without colours.
fn shown(world: &World, prompt: &str, answers: &str) -> String {
    let agent = root().join("examples/agent.py");
    let args = ["run", "--agent", agent.to_str().unwrap(), prompt];
    answered_on_a_terminal(&world.lapidary(&args), answers)
}

/// The output of a run on a terminal, without colours. `answers` are typed at its prompts, one at each, separated by bars.
pub(crate) fn answered_on_a_terminal(lapidary: &Command, answers: &str) -> String {
    let mut python = program("python3");
    python.args(["-c", ANSWERS, answers]);
    python.arg(lapidary.get_program()).args(lapidary.get_args());
    python.current_dir(lapidary.get_current_dir().unwrap());
    let env = lapidary.get_envs();
    python.envs(env.filter_map(|(name, value)| Some((name, value?))));
    python.envs([("TERM", "dumb"), ("NO_COLOR", "1")]);
    let ran = output(python, b"");
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let shown = String::from_utf8(ran.stdout).unwrap();
    without_colours(&shown).replace("\r\n", "\n")
}

fn events(world: &World) -> Vec<serde_json::Value> {
    let mut command: Command = world.lapidary(&["translate", "--json"]);
    command.arg(world.recording());
    let ran = output(command, b"");
    let lines = String::from_utf8(ran.stdout).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn always_answers_the_same_action_in_this_run_and_no_other() {
    let world = World::with_agent("");
    let prompt = "ask execute ls; ask execute ls; ask execute rm";
    let seen = shown(&world, prompt, "always|use the trash");
    assert_harmless(&seen);
    let question = "Allow? [y]es / [a]lways in this run / [n]o (or type a reason): ";
    assert_eq!(seen.matches(question).count(), 2, "{seen}");
    assert!(
        seen.contains("Always would allow: the command `execute ls`"),
        "{seen}"
    );
    assert!(
        seen.contains("Allowed in this run: the command `execute ls`"),
        "{seen}"
    );
    assert!(
        seen.contains("[yes: the user allowed the command `execute ls` for this run]"),
        "{seen}"
    );
    assert!(
        seen.contains("[no: the user denied it: use the trash]"),
        "{seen}"
    );
    let events = events(&world);
    let decisions: Vec<_> = events
        .iter()
        .filter(|it| it["event"] == "permission_decision")
        .collect();
    let told = |at: usize, key: &str| decisions[at][key].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        (told(0, "decidedBy"), decisions[0]["forRun"].clone()),
        ("user".to_owned(), true.into())
    );
    assert_eq!(
        (told(1, "decidedBy"), decisions[1]["forRun"].is_null()),
        ("rule".to_owned(), true)
    );
    assert_eq!(told(1, "rule"), "answer `always`: the command `execute ls`");
    assert_eq!(told(2, "decision"), "denied");
    for decision in &decisions {
        assert_ne!(
            decision["optionId"], "always",
            "the agent's own always is never chosen"
        );
    }
    let rules = world.path("rules.toml");
    fs::write(&rules, "[[rule]]\nkind = 'execute'\nthen = 'deny'\n").unwrap();
    let mut command = world.lapidary(&["policy", "test", "--format", "text"]);
    command.arg(&rules).arg("--against").arg(world.recording());
    let tested = String::from_utf8(output(command, b"").stdout).unwrap();
    assert!(
        tested.contains("(answered always)")
            && tested.contains("(answered always before)")
            && tested.contains("(answered no)"),
        "{tested}"
    );
}

#[test]
fn an_unclear_reply_to_a_prompt_is_asked_again() {
    let world = World::with_agent("");
    let seen = shown(&world, "ask edit a.txt", "ok|y");
    assert!(
        seen.contains("Answer y, a or n, or type a reason."),
        "{seen}"
    );
    assert!(seen.contains("[yes: the user allowed it]"), "{seen}");
}
