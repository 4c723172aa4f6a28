//! Sessions that work in different directories: the paths and commands of an agent are relative to the directory of their
//! session.

use std::fs;

use serde_json::{Value, json};

use super::peer::Peer;
use crate::run::world::World;

/// The agent of scenes.
const AGENT: &str = include_str!("../talk/agent.py");

/// A client of `connect` whose agent plays a scene, in a workspace with a directory `sub`. Hooks append their input to `seen`.
fn peer(scene: &str, args: &[&str]) -> Peer {
    let world = World::with_agent("exit 1");
    world.program(
        "agent",
        "#!/bin/sh\nexec python3 -I -S ../agent.py ../scene.py\n",
    );
    fs::write(world.path("agent.py"), AGENT).unwrap();
    fs::write(world.path("scene.py"), scene).unwrap();
    fs::create_dir_all(world.path("project/.gemini")).unwrap();
    fs::create_dir(world.path("project/sub")).unwrap();
    let note = json!([{"hooks": [{"type": "command", "command": "cat >> seen; echo >> seen"}]}]);
    let settings = json!({"hooks": {"BeforeTool": note}}).to_string();
    fs::write(world.path("project/.gemini/settings.json"), settings).unwrap();
    Peer::of(world, "", args)
}

const DENIES: [&str; 4] = ["--hooks", "--yolo", "--deny", "edit:sub/**"];

impl Peer {
    /// Our answer to the agent's request of this id.
    fn answer(&self, id: u64) -> Value {
        let told = self.told().into_iter();
        let mut answers = told.filter(|told| told["method"].is_null() && told["id"] == id);
        answers.next().unwrap()
    }

    fn chosen(&self, id: u64) -> Value {
        self.answer(id)["result"]["outcome"]["optionId"].clone()
    }

    /// What hooks were told of: in which directory, and which file.
    fn seen(&self) -> Vec<(String, String)> {
        let seen = fs::read_to_string(self.world.path("project/seen")).unwrap_or_default();
        let project = self.world.path("project").canonicalize().unwrap();
        let short = |path: &Value| {
            let path = path.as_str().unwrap_or_default().to_owned();
            path.replace(project.to_str().unwrap(), ".")
        };
        let told = seen.lines().filter(|line| !line.is_empty());
        told.map(|line| {
            let told: Value = serde_json::from_str(line).unwrap();
            (short(&told["cwd"]), short(&told["tool_input"]["file_path"]))
        })
        .collect()
    }
}

/// What every scene has: a request for permission to edit a file, named as agents name files.
const WORDS: &str = r#"
def edit(id, session, call=None, **more):
    call = {"toolCallId": f"c{id}", "title": "Edit", "kind": "edit", **more} if call is None else call
    ask(id, "session/request_permission", sessionId=session, toolCall=call, options=OPTIONS)
"#;

#[test]
fn relative_files_count_from_where_their_session_works() {
    let scene = format!(
        r#"{WORDS}
hello()
answer(hear("session/new"), {{"sessionId": "a"}})
answer(hear("session/new"), {{"sessionId": "b"}})
p = hear("session/prompt")
ways = [
    {{"rawInput": {{"path": "x.txt"}}}},
    {{"rawInput": {{"files": ["x.txt", "y.txt"]}}}},
    {{"content": [{{"type": "diff", "path": "x.txt", "newText": "a"}}]}},
    {{"locations": [{{"path": "./x.txt"}}]}},
]
for number, way in enumerate(ways):
    for session, id in [("a", number), ("b", 10 + number)]:
        edit(id, session, **way); reply(id)
edit(20, "b", rawInput={{"path": "../x.txt"}}); reply(20)
done(p)
"#
    );
    let mut peer = peer(&scene, &DENIES);
    peer.does("create_session", json!({"cwd": ""}));
    peer.does("create_session", json!({"cwd": "sub"}));
    let prompt = peer.give("send_message", json!({"sessionId": "a", "text": "go"}));
    peer.done(&prompt);
    for id in 0..4 {
        assert_eq!(peer.chosen(id), "yes", "{id}");
        assert_eq!(peer.chosen(10 + id), "no", "{id}");
    }
    assert_eq!(peer.chosen(20), "yes", "it is not in `sub`");
    let seen = peer.seen();
    let told = |cwd: &str, file: &str| (cwd.to_owned(), file.to_owned());
    let expected = [
        told(".", "./x.txt"),
        told("./sub", "./sub/x.txt"),
        told(".", "./x.txt"),
        told(".", "./y.txt"),
        told("./sub", "./sub/x.txt"),
        told("./sub", "./sub/y.txt"),
    ];
    assert_eq!(seen[..6], expected);
    peer.finish();
}

#[test]
fn terminals_begin_where_their_session_works() {
    let scene = r#"
hello()
answer(hear("session/new"), {"sessionId": "a"})
answer(hear("session/new"), {"sessionId": "b"})
p = hear("session/prompt")
for id, session in enumerate(["a", "b"]):
    ask(id, "terminal/create", sessionId=session, command="sh", args=["-c", "pwd > here"])
    terminal = reply(id)["result"]["terminalId"]
    ask(10 + id, "terminal/wait_for_exit", sessionId=session, terminalId=terminal); reply(10 + id)
done(p)
"#;
    let mut peer = peer(scene, &["--yolo"]);
    peer.does("create_session", json!({"cwd": ""}));
    peer.does("create_session", json!({"cwd": "sub"}));
    let prompt = peer.give("send_message", json!({"sessionId": "a", "text": "go"}));
    peer.done(&prompt);
    for place in ["project", "project/sub"] {
        let path = peer.world.path(place).canonicalize().unwrap();
        let here = fs::read_to_string(path.join("here")).unwrap();
        assert_eq!(here.trim_end(), path.to_str().unwrap());
    }
    peer.finish();
}

/// The client allows a command in the directory of its session. Lapidary does not ask again for that directory, and asks for
/// another.
#[test]
fn a_permission_for_a_command_is_one_for_where_its_session_works() {
    let scene = r#"
hello()
root = os.getcwd()
answer(hear("session/new"), {"sessionId": "b"})
p = hear("session/prompt")
ask(0, "session/request_permission", sessionId="b", toolCall={"toolCallId": "c", "title": "touch t", "kind": "execute", "rawInput": {"command": "touch t"}}, options=OPTIONS); reply(0)
ask(1, "terminal/create", sessionId="b", command="touch", args=["t"]); reply(1)
ask(2, "terminal/create", sessionId="b", command="touch", args=["t"], cwd=root); reply(2)
done(p)
"#;
    let mut peer = peer(scene, &[]);
    let prompt = json!({"cwd": "sub", "prompt": "go"});
    let prompt = peer.give("create_session", prompt);
    for allowed in [true, false] {
        let request = peer.event("permission_request")["requestId"].clone();
        let response = json!({"requestId": request, "allowed": allowed});
        peer.does("permission_response", response);
    }
    peer.done(&prompt);
    assert!(peer.answer(1)["result"].is_object());
    assert!(peer.answer(2)["error"].is_object());
    assert!(!peer.world.path("project/t").exists());
    peer.finish();
}

/// An agent gains no permission by messages that it sends before Lapidary knows its session to be open.
#[test]
fn an_edit_in_an_opening_session_is_judged_from_the_sessions_directory() {
    let scene = format!(
        r#"{WORDS}
hello(agentCapabilities={{"loadSession": True}})
r = hear("session/new")
update("tool_call", session="b", toolCallId="early", title="Edit", kind="edit", rawInput={{"path": "x.txt"}})
edit(0, "b", rawInput={{"path": "x.txt"}})
answer(r, {{"sessionId": "b"}})
edit(1, "b", call={{"toolCallId": "early"}}); reply(1)
ready()
r = hear("session/load")
edit(2, "old", rawInput={{"path": "x.txt"}}); reply(2)
answer(r, {{}})
p = hear("session/prompt")
edit(3, "old", rawInput={{"path": "x.txt"}}); reply(3)
edit(4, "old", rawInput={{"path": "../x.txt"}}); reply(4)
done(p)
"#
    );
    let mut peer = peer(&scene, &DENIES);
    peer.does("create_session", json!({"cwd": "sub"}));
    peer.world.wait_for("ready");
    let old = json!({"sessionId": "old", "cwd": "sub"});
    peer.does("load_session", old);
    let prompt = peer.give("send_message", json!({"sessionId": "old", "text": "go"}));
    peer.done(&prompt);
    for id in 0..4 {
        assert_ne!(peer.chosen(id), "yes", "{id}");
    }
    assert_eq!(peer.chosen(4), "yes", "it is not in `sub`");
    peer.finish();
}

#[test]
fn hooks_get_the_directory_of_a_session_that_is_still_being_prepared() {
    let scene = format!(
        r#"{WORDS}
hello()
answer(hear("session/new"), {{"sessionId": "b"}})
r = hear("session/set_model")
edit(0, "b", rawInput={{"path": "x.txt"}}); reply(0)
answer(r, {{}})
p = hear("session/prompt")
done(p)
"#
    );
    let args = ["--hooks", "--yolo", "--model", "m"];
    let mut peer = peer(&scene, &args);
    peer.does("create_session", json!({"cwd": "sub", "prompt": "go"}));
    let told = ("./sub".to_owned(), "./sub/x.txt".to_owned());
    assert_eq!(peer.seen(), [told]);
    peer.finish();
}

/// An agent that gives two sessions one id could say of each file that it is meant from the other's directory.
#[test]
fn a_session_cannot_get_the_id_of_one_in_another_directory() {
    let scene = format!(
        r#"{WORDS}
hello()
answer(hear("session/new"), {{"sessionId": "b"}})
answer(hear("session/new"), {{"sessionId": "b"}})
p = hear("session/prompt")
edit(0, "b", rawInput={{"path": "x.txt"}}); reply(0)
done(p)
"#
    );
    let mut peer = peer(&scene, &DENIES);
    peer.does("create_session", json!({"cwd": "sub"}));
    let why = peer.cannot("create_session", json!({"cwd": ""}));
    assert!(why.contains("`b`"), "{why}");
    let prompt = peer.give("send_message", json!({"sessionId": "b", "text": "go"}));
    peer.done(&prompt);
    assert_ne!(peer.chosen(0), "yes");
    peer.finish();
}
