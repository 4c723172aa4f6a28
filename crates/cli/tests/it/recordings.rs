//! A recording, translated, is the run that it is of: event by event, with the same end.

mod bad_input;
mod same;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::run::world::{Told, World};
use crate::support::{Ran, run};

/// Shell functions of an ACP agent, and its conversation up to the first prompt.
const OPENING: &str = r#"#!/bin/sh
hear() { read -r line || exit 0; id=${line#*'"id":'}; id=${id%%,*}; }
say() { printf '%s\n' "$1"; }
answer() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
ask() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"$2\",\"params\":$3}"; hear; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":'"$1"'}}'; }
chunk() { update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}'; }
say 'Welcome!'
hear; answer "$id" '{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}'
hear; answer "$id" '{"sessionId":"s-1"}'
hear; prompt=$id
chunk 'Let me'
chunk ' see.'
echo 'a complaint' >&2
"#;

/// A world whose `mona` is an agent that opens a session and then does this.
fn world(script: &str) -> World {
    let world = World::with_agent("");
    world.program("mona", &format!("{OPENING}{script}"));
    world
}

/// A world in which it ran, recorded as `r`.
fn ran(script: &str) -> World {
    let world = world(script);
    live(&world, &["--agent", "../mona"]);
    world
}

/// A run, recorded as `r`.
fn live(world: &World, args: &[&str]) -> Told {
    let fixed = ["--format", "events", "--run-id", "r", "--grace", "1"];
    let told = world.run(&[&fixed[..], args, &["do it"]].concat());
    assert!(!told.events.is_empty(), "{told:?}");
    told
}

fn recording(world: &World) -> PathBuf {
    world.path("state/runs/r")
}

/// The recording, translated.
fn translated(recording: &Path, args: &[&str]) -> Ran {
    let name = recording.to_str().unwrap();
    run(&[&["translate", "--run-id", "r", name], args].concat())
}

fn events(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Changes the manifest.
fn edit(recording: &Path, change: impl FnOnce(&mut Value)) {
    let path = recording.join("run.json");
    let mut manifest = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    fs::write(path, manifest.to_string()).unwrap();
}
