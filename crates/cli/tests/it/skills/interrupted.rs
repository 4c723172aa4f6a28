//! Those who are killed, or told to end, while skills come.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::hostile::{assert_nothing_temporary_is_left, repository};
use super::stage::{Stage, skill};
use crate::run::world::{MARK, Mark};
use crate::support::{DEADLINE, output};

/// So many that moving them takes a while.
const COUNT: usize = 300;
const SKILLS: &str = "home/.gemini/skills";

/// A package of new skills, and older ones in their places.
fn new_over_old() -> Stage {
    let stage = Stage::new();
    for (place, word) in [("project/package", "new"), (SKILLS, "old")] {
        fill(&stage, place, word);
    }
    stage
}

fn fill(stage: &Stage, place: &str, word: &str) {
    for number in 0..COUNT {
        let name = format!("skill-{number:03}");
        let text = format!("{}{word}", skill(&name));
        stage.write(&format!("{place}/{name}/SKILL.md"), text);
        stage.write(&format!("{place}/{name}/last.txt"), word);
    }
}

/// How many are of which kind. Each is whole: what its two files say is the same.
fn kinds(stage: &Stage) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for number in 0..COUNT {
        let path = stage.path(&format!("{SKILLS}/skill-{number:03}"));
        let text = fs::read_to_string(path.join("SKILL.md")).unwrap();
        let word = fs::read_to_string(path.join("last.txt")).unwrap();
        assert!(text.ends_with(&word), "skill {number} is half of each");
        *kinds.entry(word).or_default() += 1;
    }
    kinds
}

fn desks(stage: &Stage) -> Vec<String> {
    let entries = fs::read_dir(stage.path(SKILLS)).unwrap().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.'))
        .collect()
}

fn install(stage: &Stage) -> Child {
    let mut command = stage.command(&["install", "package", "--consent"]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().unwrap()
}

/// Kills it as soon as something is so.
fn kill_when(mut child: Child, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < DEADLINE);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn who_is_killed_before_the_first_skill_is_in_place_has_done_nothing() {
    let stage = new_over_old();
    for _ in 0..20 {
        kill_when(install(&stage), || !desks(&stage).is_empty());
        if desks(&stage).len() == 1 && kinds(&stage).len() == 1 {
            let before = kinds(&stage);
            // Whoever comes next and writes there clears it away.
            assert_eq!(stage.run(&["uninstall", "nobody"]).code, Some(13));
            assert_eq!((desks(&stage), kinds(&stage)), (vec![], before.clone()));
            assert_eq!(before["old"], COUNT);
            return;
        }
        // Too late.
        assert_eq!(stage.run(&["uninstall", "nobody"]).code, Some(13));
        fill(&stage, SKILLS, "old");
    }
    panic!("it was never killed in time: the test is blind");
}

#[test]
fn who_is_killed_in_the_middle_leaves_whole_skills_and_the_next_one_finishes() {
    let stage = new_over_old();
    // The last of its names comes first.
    let first = stage.path(&format!("{SKILLS}/skill-{:03}/last.txt", COUNT - 1));
    let is_begun = || fs::read(&first).is_ok_and(|text| text == b"new");
    for _ in 0..20 {
        kill_when(install(&stage), is_begun);
        let found = kinds(&stage);
        let next = stage.run(&["uninstall", "nobody"]);
        assert_eq!(next.code, Some(13), "{next:?}");
        assert_eq!(desks(&stage), [""; 0]);
        assert_eq!(kinds(&stage)["new"], COUNT, "it was {found:?}");
        if found.len() == 2 {
            return;
        }
        fill(&stage, SKILLS, "old");
    }
    panic!("it was never killed in the middle: the test is blind");
}

/// Waits for the question on a terminal, then types or sends something, and prints how it ended.
const AT_THE_QUESTION: &str = r"import os, pty, signal, sys
how, *command = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0: os.execv(command[0], command)
shown = b''
while b'[Y/n]: ' not in shown: shown += os.read(terminal, 4096)
if how == 'typed': os.write(terminal, b'\x03')
else: os.kill(pid, getattr(signal, how))
try:
    while chunk := os.read(terminal, 4096): shown += chunk
except OSError: pass
print(shown.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))";

#[test]
fn who_is_told_to_end_at_the_question_leaves_nothing_behind() {
    let stage = Stage::new();
    let url = repository(&stage);
    for how in ["typed", "SIGINT", "SIGTERM", "SIGHUP"] {
        let asked = stage.command(&["install", &url, "--path", "skills"]);
        let mut python = Command::new("python3");
        python
            .args(["-c", AT_THE_QUESTION, how])
            .arg(asked.get_program())
            .args(asked.get_args())
            .current_dir(stage.world.project())
            .env_clear()
            .envs(stage.world.environment(""));
        let ran = output(python, b"");
        let shown = String::from_utf8_lossy(&ran.stdout);
        assert!(shown.ends_with(" 130\n"), "{how}: {ran:?}");
        assert!(shown.contains("cancelled by user"), "{how}: {shown}");
        assert_nothing_temporary_is_left(&stage, how);
        assert!(!stage.path(SKILLS).exists(), "{how}");
    }
}

#[test]
fn who_is_told_to_end_while_it_clones_leaves_nothing_behind() {
    let stage = Stage::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x.git", listener.local_addr().unwrap());
    let mark = Mark::fresh();
    let mut command = stage.command(&["install", &url, "--consent"]);
    command.env(MARK, mark.value());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // Git is there, and waits for an answer.
    let (_git, _) = listener.accept().unwrap();
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let code = child.wait().unwrap().code();
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains("error: cancelled: nothing was changed"),
        "{said}"
    );
    mark.assert_nothing_is_left();
    assert_nothing_temporary_is_left(&stage, "cloning");
}

#[test]
fn what_somebody_fetched_who_was_killed_is_cleared_away_by_the_next_but_not_what_is_in_use() {
    let stage = Stage::new();
    let url = repository(&stage);
    let dead = stage.path("lapidary-skill-dead");
    let alive = stage.path("lapidary-skill-alive");
    let young = stage.path("lapidary-skill-young");
    for directory in [&dead, &alive, &young] {
        fs::create_dir(directory).unwrap();
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    for directory in [&dead, &alive] {
        let opened = fs::File::open(directory).unwrap();
        opened.set_modified(long_ago).unwrap();
    }
    let held = fs::File::open(&alive).unwrap();
    held.lock().unwrap();
    let ran = stage.run(&["install", &url, "--path", "skills", "--consent"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let there = [&dead, &alive, &young].map(|directory| directory.exists());
    assert_eq!(there, [false, true, true]);
}
