//! Confinement beyond files: ports, signals, the temporary directory of a run, and the confinement in its recording.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::run::world::{Told, World};
use crate::support::output;

#[test]
fn only_the_named_ports_can_be_connected_to() {
    let world = World::with_agent(
        r#"init
        try() { python3 -I -S -c "import socket; socket.create_connection(('127.0.0.1', $1)).close()" 2>/dev/null && say "$2 "; }
        try "$OPEN" open; try "$CLOSED" closed; say end; success"#,
    );
    let (open, closed) = (listener(), listener());
    let port = |it: &TcpListener| it.local_addr().unwrap().port().to_string();
    let config = world.path("ports.toml");
    let run = |ports: &str| {
        fs::write(&config, format!("confine = 'workspace'\n{ports}")).unwrap();
        let mut command = world.confining(&["run", "--config", config.to_str().unwrap(), "go"]);
        command
            .env("OPEN", port(&open))
            .env("CLOSED", port(&closed));
        let told = Told::by(command);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
        let texts = told.events.iter().filter_map(|it| it["textDelta"].as_str());
        texts.collect::<String>()
    };
    assert_eq!(
        run(&format!("confine_connect = [{}]", port(&open))),
        "open end"
    );
    assert_eq!(run("confine_connect = []"), "end");
    assert_eq!(run(""), "open closed end");
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// A process outside, which is ended when the test is.
struct Outsider(Child);

impl Outsider {
    fn start() -> Self {
        let mut sleep = Command::new("sleep");
        let sleep = sleep.arg("600").stdout(Stdio::null());
        Self(sleep.spawn().unwrap())
    }
}

impl Drop for Outsider {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn no_signal_of_a_confined_agent_reaches_a_process_outside() {
    let world = World::with_agent(
        "init; kill -9 $OUTSIDER 2>/dev/null && say killed; sleep 600 & kill -9 $! && say own; success",
    );
    let mut outsider = Outsider::start();
    let mut command = world.confining(&["run", "--confine", "workspace", "go"]);
    command.env("OUTSIDER", outsider.0.id().to_string());
    let told = Told::by(command);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let texts = told.events.iter().filter_map(|it| it["textDelta"].as_str());
    assert_eq!(texts.collect::<String>(), "own", "{told:?}");
    assert!(outsider.0.try_wait().unwrap().is_none());
}

#[test]
fn the_temporary_directory_is_private_and_goes_with_the_run_however_it_ends() {
    let agent = "init; echo secret > \"$TMPDIR/file\"; stat -c '%a %n' \"$TMPDIR\" > temporary";
    for (rest, cause) in [
        ("say done; success", "end_turn"),
        ("kill -9 $$", "agent_crashed"),
    ] {
        let world = World::with_agent(&format!("{agent}; {rest}"));
        fs::create_dir(world.path("tmp")).unwrap();
        let mut command = world.confining(&["run", "--confine", "workspace", "go"]);
        command.env("TMPDIR", world.path("tmp"));
        let told = Told::by(command);
        assert_eq!(told.verdict().0, cause, "{told:?}");
        let made = fs::read_to_string(world.path("project/temporary")).unwrap();
        assert!(
            made.starts_with("700 ") && made.contains("/lapidary-"),
            "{made}"
        );
        assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0);
    }
}

#[test]
fn connect_confines_only_with_an_option() {
    let world = World::with_agent("exit 1");
    world.program("agent", "#!/bin/sh\ntouch inside ../outside\nread line\n");
    let agent = world.path("agent");
    let connect = |more: &[&str]| {
        let args = [&["connect", "--agent", agent.to_str().unwrap()], more].concat();
        drop(Told::by(world.confining(&args)));
        (
            fs::remove_file(world.path("project/inside")).is_ok(),
            fs::remove_file(world.path("outside")).is_ok(),
        )
    };
    assert_eq!(connect(&["--confine", "workspace"]), (true, false));
    assert_eq!(connect(&["--confine", "read-only"]), (false, false));
    assert_eq!(connect(&[]), (true, true));
}

#[test]
fn a_recording_says_how_its_run_was_confined() {
    let world = World::with_agent("init; say done; success");
    world.run(&["--confine", "read-only", "go"]);
    let recording = world.recording();
    let manifest = fs::read_to_string(recording.join("run.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let confinement = &manifest["confinement"];
    assert_eq!(confinement["mode"], "read-only");
    let state = world.path("home").canonicalize().unwrap().join(".gemini");
    assert_eq!(confinement["write"][0], state.to_str().unwrap());
    let id = recording.file_name().unwrap().to_str().unwrap();
    let show = |format: &str| {
        let show = world.confining(&["runs", "show", id, "--format", format]);
        String::from_utf8(output(show, b"").stderr).unwrap()
    };
    let note = format!(
        "note: confined to `read-only`: the agent could write `{}`, ",
        state.display()
    );
    assert!(show("text").starts_with(&note), "{}", show("text"));
    assert_eq!(show("events"), "");
}
