//! `sessions resume` without a prompt: the agent has the terminal, and nothing outlives it there either.

use std::fs;
use std::process::Command;

use lapidary_testkit::patience::wait_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::browse::Home;
use super::pty::{Ended, Pty};
use crate::run::world::{MARK, Mark};
use crate::support::output;

const ID: &str = "00000004-1111-4222-8333-444444444444";

/// A home, and an agent on whose screen a session of it is opened.
struct Stage {
    home: Home,
    mark: Mark,
}

impl Stage {
    fn new(script: &str) -> Self {
        let home = Home::shop();
        let mut shell = Command::new("sh");
        let write = "cat > \"$1\" && chmod 755 \"$1\"";
        shell.args(["-c", write, "sh"]).arg(home.path("gemini"));
        let text = format!("#!/bin/sh\n{script}\n");
        assert!(output(shell, text.as_bytes()).status.success());
        let mark = Mark::fresh();
        Self { home, mark }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut all = vec!["resume"];
        all.extend(args);
        let mut command = self.home.sessions(&all);
        command.env("GEMINI_CLI_PATH", self.home.path("gemini"));
        command.env(MARK, self.mark.value());
        command
    }

    fn resume(&self) -> Pty {
        Pty::spawn(&self.command(&["00000004"]), (80, 24))
    }

    fn wait_until_nothing_is_left(&self) {
        wait_until("nothing is left", || self.mark.processes().is_empty());
        let held = self.home.path(".gemini/tmp/shop/.lapidary-held");
        assert!(!held.exists(), "nothing is held");
    }
}

#[test]
fn the_agent_reads_what_is_typed_and_takes_everything_with_it() {
    let stage = Stage::new(
        r#"printf '%s\n' "$@" > ../../asked
setsid sleep 1000 &
echo "agent ready"
read line
echo "agent read $line"
stty raw -echo
exit 7"#,
    );
    let mut pty = stage.resume();
    pty.wait_for("agent ready");
    pty.type_in("hello\r");
    pty.wait_for("agent read hello");
    let expected = Ended {
        code: 7,
        is_cooked: true,
    };
    assert_eq!(pty.ended(), expected);
    stage.wait_until_nothing_is_left();
    let asked = fs::read_to_string(stage.home.path("asked")).unwrap();
    assert_eq!(asked, format!("--resume\n{ID}\n"));
    let vault = fs::read_dir(stage.home.path("state/vault/snapshots")).unwrap();
    assert!(vault.count() > 0, "the vault has a copy");
}

/// The agent has hidden the cursor, and made the terminal raw.
#[test]
fn when_we_are_killed_the_agent_ends_and_the_terminal_is_as_it_was() {
    let stage = Stage::new(
        r"stty raw -echo
setsid sh -c 'trap : TERM HUP; sleep 1000 & wait' &
printf '\033[?1049h\033[?25lagent ready'
trap : TERM HUP INT
sleep 1000",
    );
    let mut pty = stage.resume();
    pty.wait_for("agent ready");
    let pid = Pid::from_raw(i32::try_from(pty.pid).unwrap());
    kill(pid, Signal::SIGKILL).unwrap();
    let expected = Ended {
        code: -9,
        is_cooked: true,
    };
    assert_eq!(pty.ended(), expected);
    assert!(!pty.terminal().hide_cursor());
    wait_until("nothing is left", || stage.mark.processes().is_empty());
}

#[test]
fn ctrl_c_is_for_the_agent() {
    let stage = Stage::new(
        r#"trap 'echo "agent caught it"; exit 3' INT
echo "agent ready"
while :; do sleep 0.05; done"#,
    );
    let mut pty = stage.resume();
    pty.wait_for("agent ready");
    pty.type_in("\u{3}");
    pty.wait_for("agent caught it");
    assert_eq!(pty.ended().code, 3);
    stage.wait_until_nothing_is_left();
}

/// A shell with jobs: an agent that stops itself gives the terminal back, and `fg` continues it.
#[test]
fn an_agent_that_is_stopped_stops_the_job_and_fg_goes_on() {
    let stage = Stage::new(
        r#"echo "agent ready"
kill -TSTP $$
echo "agent goes on"
read line
echo "agent read $line""#,
    );
    let resume = stage.command(&["00000004"]);
    let script = r#"set -m; "$@"; echo "stopped: type a line"; read line; echo "shell read $line"; fg; echo "ended $?""#;
    let mut shell = Command::new("bash");
    shell
        .args(["--norc", "-c", script, "bash"])
        .arg(resume.get_program())
        .args(resume.get_args())
        .current_dir(resume.get_current_dir().unwrap());
    for (name, value) in resume.get_envs() {
        shell.env(name, value.unwrap());
    }
    let mut pty = Pty::spawn(&shell, (80, 24));
    pty.wait_for("stopped: type a line");
    pty.type_in("one\r");
    pty.wait_for("shell read one");
    pty.wait_for("agent goes on");
    pty.type_in("two\r");
    pty.wait_for("agent read two");
    pty.wait_for("ended 0");
    assert_eq!(pty.ended().code, 0);
    stage.wait_until_nothing_is_left();
}

#[test]
fn without_a_terminal_and_a_prompt_the_hint_names_the_command() {
    let stage = Stage::new("exit 9");
    let ran = output(stage.command(&["latest"]), b"");
    assert_eq!(ran.status.code(), Some(2));
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(
        said.starts_with("error: no prompt was given\nhint: say what the agent should do: lapidary sessions resume latest '"),
        "{said}"
    );
}
