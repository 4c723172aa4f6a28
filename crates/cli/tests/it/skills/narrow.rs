//! On a terminal that is narrower than what there is to say.

use super::stage::{Stage, skill};
use crate::support::{output, program};
use crate::usage::without_colours;

/// Runs a command on a terminal of forty columns, and passes on what that shows.
const NARROW: &str = "import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 40, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while shown := os.read(terminal, 65536): os.write(1, shown)
except OSError: pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))";

fn shown(stage: &Stage, verb: &str) -> String {
    let mut python = program("python3");
    python
        .args(["-c", NARROW, env!("CARGO_BIN_EXE_lapidary"), "skills", verb])
        .current_dir(stage.world.project())
        .env_clear()
        .envs(stage.world.environment("http://127.0.0.1:9"));
    let ran = output(python, b"");
    assert!(ran.status.success(), "{ran:?}");
    let text = String::from_utf8(ran.stdout).unwrap();
    stage.anywhere(&without_colours(&text).replace("\r\n", "\n"))
}

#[test]
fn words_go_on_below_their_beginning_and_paths_stay_whole() {
    let stage = Stage::new();
    let text = skill("one").replace(
        "Does one",
        "Reads what was written and says what it thinks of it",
    );
    stage.write("home/.gemini/skills/one/SKILL.md", text);
    stage.write("home/.gemini/skills/two/skill.md", skill("two"));
    let list = shown(&stage, "list");
    let described = "  Description: Reads what was written\n               and says what it thinks\n               of it\n  Location:    ROOT/home/.gemini/skills/one/SKILL.md\n";
    assert!(list.contains(described), "{list}");
    let check = shown(&stage, "check");
    let why = "    is called `skill.md`, and only\n    `SKILL.md` is looked for\n";
    assert!(check.contains(why), "{check}");
}
