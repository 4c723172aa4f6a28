//! The view of a user: the real binary on a real pseudo-terminal, read through a terminal's model.

use std::num::NonZeroU16;

use super::world::World;
use crate::sessions::pty::Pty;
use crate::support::{output, program};

fn screen(shown: &str) -> String {
    let size = |number| NonZeroU16::new(number).unwrap();
    let mut terminal = vt100::Parser::new(size(60), size(80), 200);
    terminal.process(shown.as_bytes());
    terminal.screen().contents()
}

#[test]
fn the_demo_is_shown_as_it_goes_and_stands_there_when_it_is_over() {
    let world = World::with_agent("exit 1");
    let mut pty = demo(&world, "xterm-256color");
    pty.wait_for("Allow?");
    pty.type_in("y\n");
    assert_eq!(pty.ended().code, 0);
    let screen = pty.screen();
    let shown = String::from_utf8_lossy(&pty.bytes);
    for line in [
        "✔ list_directory  .",
        "✔ read_file  greet.sh",
        "✔ replace  greet.sh  +1 −1",
        "│ -echo \"Hello!\"",
        "✔ run_shell_command  sh test.sh",
        "✘ run_shell_command  git push origin main  denied by --deny",
        "— completed",
        "· 1 file written: greet.sh",
    ] {
        assert!(screen.contains(line), "{line}: {screen}");
    }
    assert!(!screen.contains("running"), "the status is gone: {screen}");
    assert!(
        !shown.contains("\u{1b}[2J") && !shown.contains("\u{1b}[?1049"),
        "the screen is nobody's to clear"
    );
}

fn demo(world: &World, terminal: &str) -> Pty {
    let mut command = world.lapidary(&["run", "--agent", "demo", "hello"]);
    command.env("LANG", "C.UTF-8").env("TERM", terminal);
    Pty::spawn(&command, (80, 100))
}

/// Types Ctrl-C as soon as the terminal shows the session.
const CTRL_C: &str = r#"
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
typed = False
while True:
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        break
    if not shown:
        break
    os.write(1, shown)
    if not typed and b"session" in shown:
        os.write(terminal, b"\x03")
        typed = True
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[test]
fn ctrl_c_typed_at_the_terminal_cancels() {
    let state = tempfile::tempdir().unwrap();
    let mut python = program("python3");
    python
        .args(["-c", CTRL_C, env!("CARGO_BIN_EXE_lapidary")])
        .args(["run", "--agent", "demo", "hello"])
        .env("LAPIDARY_STATE_DIR", state.path())
        .env("LANG", "C.UTF-8")
        .env("TERM", "xterm-256color");
    let ran = output(python, b"");
    let screen = screen(&String::from_utf8(ran.stdout).unwrap());
    assert_eq!(ran.status.code(), Some(130), "{screen}");
    assert!(screen.contains("cancelled"), "{screen}");
    assert!(
        !screen.contains("its test passes"),
        "it did not play to its end: {screen}"
    );
}

#[test]
fn a_dumb_terminal_gets_plain_lines() {
    let world = World::with_agent("exit 1");
    let mut pty = demo(&world, "dumb");
    pty.wait_for("Allow?");
    pty.type_in("y\n");
    assert_eq!(pty.ended().code, 0);
    let shown = String::from_utf8_lossy(&pty.bytes).into_owned();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

/// Makes the file that is its first argument as soon as there is an `x` to see.
const SEEN: &str = r#"
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
while True:
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        break
    if not shown:
        break
    os.write(1, shown)
    if b"x" in shown:
        open(sys.argv[1], "w").close()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[test]
fn a_character_that_comes_in_two_pieces_is_shown_as_one() {
    for (to, args) in [
        ("", ["--format", "raw"]),
        (" >&2", ["--verbose", "--no-raw"]),
    ] {
        let world = World::with_agent(&format!(
            r"printf 'x\303'{to}; while [ ! -e ../seen ]; do sleep 0.01; done; printf '\251\n'{to}; exit 3"
        ));
        let lapidary = world.lapidary(&[]);
        let mut python = program("python3");
        python
            .args(["-c", SEEN])
            .arg(world.path("seen"))
            .args([
                env!("CARGO_BIN_EXE_lapidary"),
                "run",
                "--transport",
                "stream-json",
            ])
            .args(args)
            .arg("go")
            .current_dir(world.path("project"))
            .envs(
                lapidary
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env("TERM", "xterm-256color");
        let ran = output(python, b"");
        let shown = String::from_utf8_lossy(&ran.stdout);
        assert!(shown.contains("xé"), "{to}: {shown:?}");
        assert_eq!(ran.status.code(), Some(15));
    }
}
