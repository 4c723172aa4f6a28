//! An agent that tries hundreds of ways to change a directory outside its workspace: itself, in a terminal that it gets from us, and in
//! an MCP server that it starts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::{Map, Value};

use crate::run::world::{Told, World};

/// What tries.
const ESCAPES: &str = include_str!("escapes.py");

/// The part of an ACP agent that speaks.
const AGENT: &str = include_str!("../talk/agent.py");

/// The least number of ways to escape.
const MANY: usize = 250;

const TRY: &str = "python3 -I -S ../escapes.py ../outside . report.json";

/// A world with a directory outside the project.
fn world(agent: &str) -> World {
    let world = World::with_agent(agent);
    fs::create_dir_all(world.path("outside/full")).unwrap();
    fs::create_dir(world.path("outside/empty")).unwrap();
    for name in ["victim", "full/file"] {
        fs::write(world.path("outside").join(name), "as it was").unwrap();
    }
    fs::write(world.path("escapes.py"), ESCAPES).unwrap();
    world
}

/// Everything about a directory that must not change: names, kinds, contents, and how many names each file has.
fn state(directory: &Path) -> BTreeMap<String, (u32, u64, Vec<u8>)> {
    let mut state = BTreeMap::new();
    let mut ahead = vec![directory.to_owned()];
    while let Some(path) = ahead.pop() {
        let about = fs::symlink_metadata(&path).unwrap();
        let content = fs::read(&path).unwrap_or_default();
        let name = path.display().to_string();
        state.insert(name, (about.mode(), about.nlink(), content));
        if about.is_dir() {
            ahead.extend(fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()));
        }
    }
    state
}

fn report(world: &World) -> Map<String, Value> {
    let report = fs::read(world.path("project/report.json")).expect("there is a report");
    let report: Map<String, Value> = serde_json::from_slice(&report).unwrap();
    assert!(report.len() >= MANY, "only {} ways", report.len());
    report
}

/// Runs, and asserts that nothing outside has changed although everything was tried.
fn assert_held(world: &World, args: &[&str]) {
    let before = state(&world.path("outside"));
    let told = world.run(args);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let mut succeeded = report(world);
    succeeded.retain(|_, ended| ended == "done");
    assert!(succeeded.is_empty(), "{succeeded:?}");
    assert_eq!(state(&world.path("outside")), before);
}

#[test]
fn no_way_of_writing_leads_outside_the_workspace() {
    let world = world(&format!("init; user; {TRY} >&2; say done; success"));
    assert_held(&world, &["--confine", "workspace", "go"]);
    assert!(fs::read_dir(world.path("project")).unwrap().count() > 1);
}

#[test]
fn without_confinement_nearly_every_way_works() {
    let world = world(&format!("init; user; {TRY} restore >&2; say done; success"));
    let told = world.run(&["--confine", "off", "go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let report = report(&world);
    let done = report.values().filter(|ended| *ended == "done").count();
    // Devices and mounts need privileges.
    assert!(done * 10 >= report.len() * 9, "{report:?}");
}

/// Plays a scene over ACP.
fn play(scene: &str, args: &[&str]) -> (World, Told) {
    let world = world("exit 1");
    fs::write(world.path("agent.py"), AGENT).unwrap();
    fs::write(world.path("scene.py"), scene).unwrap();
    let agent = "python3 -I -S ../agent.py ../scene.py";
    let before = state(&world.path("outside"));
    let mut all = vec!["--agent", agent, "--yolo", "--confine", "workspace"];
    all.extend(args);
    all.push("go");
    let told = world.run(&all);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let mut succeeded = report(&world);
    succeeded.retain(|_, ended| ended == "done");
    assert!(succeeded.is_empty(), "{succeeded:?}");
    assert_eq!(state(&world.path("outside")), before);
    (world, told)
}

#[test]
fn a_terminal_of_ours_is_confined_like_the_agent() {
    let scene = format!(
        r#"
p = prompted()
t = asked(0, "terminal/create", command="{TRY}; echo $TMPDIR > temporary")["result"]["terminalId"]
asked(1, "terminal/wait_for_exit", terminalId=t); done(p)"#
    );
    let (world, _) = play(&scene, &[]);
    let temporary = fs::read_to_string(world.path("project/temporary")).unwrap();
    assert!(!Path::new(temporary.trim()).exists(), "{temporary}");
}

#[test]
fn a_file_that_is_written_for_the_agent_is_one_that_it_could_write() {
    let write = |path: &str, args: &[&str]| {
        let world = World::with_agent("exit 1");
        fs::create_dir_all(world.path("outside")).unwrap();
        std::os::unix::fs::symlink("../outside", world.path("project/up")).unwrap();
        let agent = crate::support::root().join("examples/agent.py");
        let agent = format!("python3 {}", agent.display());
        let prompt = format!("write {}", world.path(path).display());
        let told = world.run(&[&["--agent", &*agent, "--yolo"], args, &[&*prompt]].concat());
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
        world.path(path).exists()
    };
    let inside = |mode| write("project/x", &["--confine", mode]);
    assert!(inside("workspace"));
    assert!(!inside("read-only"));
    let linked = ["--include-directories", "up", "--confine"];
    let outside = |mode| write("project/up/x", &[&linked[..], &[mode]].concat());
    assert!(outside("off"));
    assert!(!outside("workspace"));
}

#[test]
fn an_mcp_server_of_the_agent_is_confined_like_the_agent() {
    let scene = r#"
import subprocess
hello()
new = hear("session/new"); server = new["params"]["mcpServers"][0]; answer(new, {"sessionId": "s"})
p = hear("session/prompt")
subprocess.run([server["command"], *server["args"]], stdout=subprocess.DEVNULL, check=True); done(p)"#;
    let config = serde_json::json!({ "mcpServers": { "server": {
        "command": "sh", "args": ["-c", TRY],
    } } });
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), config.to_string()).unwrap();
    play(scene, &["--mcp-config", file.path().to_str().unwrap()]);
}
