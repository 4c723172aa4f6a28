//! Installs of skills that are killed or cancelled while they work.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use lapidary::gemini::owned_dir;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::hostile::{assert_nothing_temporary_is_left, repository};
use super::stage::{Stage, skill};
use crate::run::world::{MARK, Mark};
use crate::support::{DEADLINE, output};

/// So many skills that moving them takes a while.
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

/// The number of skills of each kind. Each skill is whole: its two files have the same word.
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

fn is_marked(stage: &Stage) -> bool {
    let skills = stage.path(SKILLS);
    desks(stage)
        .iter()
        .any(|desk| owned_dir::is_ours(&skills.join(desk)))
}

fn install(stage: &Stage) -> Child {
    let mut command = stage.command(&["install", "package", "--consent"]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the install as soon as the condition holds.
fn kill_when(mut child: Child, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < DEADLINE);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_install_killed_before_the_first_skill_changes_nothing() {
    let stage = new_over_old();
    for _ in 0..20 {
        // Until the staging directory has its mark, no command knows that it belongs to an install.
        kill_when(install(&stage), || is_marked(&stage));
        let before = kinds(&stage);
        if desks(&stage).len() == 1 && before.get("old") == Some(&COUNT) {
            // The next command that writes there clears it away.
            assert_eq!(stage.run(&["uninstall", "nobody"]).code, Some(13));
            assert_eq!((desks(&stage), kinds(&stage)), (vec![], before));
            return;
        }
        // Too late: some skills are new, on a busy machine even all of them.
        assert_eq!(stage.run(&["uninstall", "nobody"]).code, Some(13));
        fill(&stage, SKILLS, "old");
    }
    panic!("it was never killed in time: the test is blind");
}

/// The staging directories that a check reports as left behind by a killed install.
fn interrupted(checked: &Value) -> Vec<&Value> {
    let candidates = checked["candidates"].as_array().unwrap().iter();
    candidates
        .filter(|candidate| candidate["path"].as_str().unwrap().contains("/.lapidary-"))
        .inspect(|candidate| {
            let why = candidate["explanation"].as_str().unwrap();
            assert!(why.contains("interrupted"), "{why}");
        })
        .collect()
}

#[test]
fn an_install_killed_midway_leaves_whole_skills_and_its_leftovers_are_removed_later() {
    let stage = new_over_old();
    // The last of its names comes first.
    let first = stage.path(&format!("{SKILLS}/skill-{:03}/last.txt", COUNT - 1));
    let is_begun = || fs::read(&first).is_ok_and(|text| text == b"new");
    for _ in 0..20 {
        kill_when(install(&stage), is_begun);
        let found = kinds(&stage);
        let checked = stage.object(&["check", "--format", "json"]);
        let next = stage.run(&["uninstall", "nobody"]);
        assert_eq!(next.code, Some(13), "{next:?}");
        assert_eq!(desks(&stage), [""; 0]);
        assert_eq!(kinds(&stage), found);
        if found.len() == 2 {
            let said = "note: what was interrupted here was cleared away";
            assert!(next.stderr.starts_with(said), "{next:?}");
            let desks = interrupted(&checked);
            assert_eq!(desks.len(), 1, "{desks:?}");
            return;
        }
        fill(&stage, SKILLS, "old");
    }
    panic!("it was never killed in the middle: the test is blind");
}

/// Waits for the question on a terminal, then types Ctrl-C or sends a signal, and prints the output and the exit code.
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
fn an_install_cancelled_at_the_question_leaves_no_files() {
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
fn an_install_cancelled_while_cloning_leaves_no_files() {
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
fn the_next_install_removes_clones_of_killed_installs_but_not_live_ones() {
    let stage = Stage::new();
    let url = repository(&stage);
    let names = ["dead", "alive", "young", "foreign"];
    let all = names.map(|name| stage.path(&format!("lapidary-skill-{name}")));
    let [dead, alive, young, foreign] = &all;
    for directory in &all {
        fs::create_dir(directory).unwrap();
    }
    for directory in [dead, alive, young] {
        owned_dir::leave(directory).unwrap();
    }
    // Called as ours are, and with a mark that is true of another.
    fs::copy(dead.join("mark"), foreign.join("mark")).unwrap();
    stage.write("lapidary-skill-foreign/thesis.txt", "precious");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    for directory in [dead, alive, foreign] {
        let opened = fs::File::open(directory).unwrap();
        opened.set_modified(long_ago).unwrap();
    }
    let held = fs::File::open(alive).unwrap();
    held.lock().unwrap();
    let ran = stage.run(&["install", &url, "--path", "skills", "--consent"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let there = all.each_ref().map(|directory| directory.exists());
    assert_eq!(there, [false, true, true, true]);
    assert!(foreign.join("thesis.txt").is_file());
}

#[test]
fn a_plan_that_a_repository_ships_removes_nothing() {
    let stage = Stage::new();
    let place = "project/.gemini/skills";
    stage.write(&format!("{place}/mine/SKILL.md"), skill("mine"));
    let plan = r#"[{"name":"mine","id":0},{"name":"..","id":0}]"#;
    stage.write(&format!("{place}/.lapidary-x/plan"), plan);
    stage.write("project/package/SKILL.md", skill("fresh"));
    let before = stage.files(place);
    for args in [
        ["uninstall", "nobody"].as_slice(),
        &["install", "package", "--consent"],
        &["uninstall", "fresh"],
    ] {
        let ran = stage.run(&[args, &["--scope", "workspace"]].concat());
        assert!(matches!(ran.code, Some(0 | 13)), "{ran:?}");
    }
    assert_eq!(stage.files(place), before);
}
