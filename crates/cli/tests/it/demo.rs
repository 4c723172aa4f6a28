//! `--agent demo`: it needs nothing installed, works in a project of its own, and leaves nothing but its recording.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::run::world::World;
use crate::sessions::pty::Pty;
use crate::support::{DEADLINE, ended, lines_of, output};

/// The demo in a world whose temporary directory is its own.
fn demo(args: &[&str]) -> (World, Command) {
    let world = World::with_agent("exit 1");
    fs::create_dir(world.path("tmp")).unwrap();
    let mut command = world.confining(args);
    command
        .env("PATH", "")
        .env("TMPDIR", world.path("tmp"))
        .env("LANG", "C.UTF-8");
    (world, command)
}

fn assert_nothing_is_left(world: &World) {
    let left = fs::read_dir(world.path("tmp")).unwrap();
    assert_eq!(left.count(), 0, "the throw-away directory is gone");
}

#[test]
fn without_a_terminal_rules_allow_the_edit_and_deny_one_command() {
    let args = ["run", "--agent", "demo", "--deltas", "final", "hello"];
    let (world, command) = demo(&args);
    let ran = output(command, b"");
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let lines = String::from_utf8(ran.stdout).unwrap();
    let events: Vec<Value> = lines
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let of = |name: &'static str| events.iter().filter(move |event| event["event"] == name);
    let decided: Vec<_> = of("permission_decision")
        .map(|it| json!([it["toolName"], it["decision"], it["decidedBy"]]))
        .collect();
    assert_eq!(
        decided,
        [
            json!(["replace", "allowed", "rule"]),
            json!(["run_shell_command", "allowed", "rule"]),
            json!(["run_shell_command", "denied", "rule"]),
        ],
        "{lines}"
    );
    let outputs: Vec<_> = of("tool_completion")
        .map(|it| it["output"].to_string())
        .collect();
    assert!(
        outputs[3].contains("ok: Hello, Ada!"),
        "the test really ran: {outputs:?}"
    );
    let said = of("text")
        .map(|it| it["text"].to_string())
        .collect::<String>();
    assert!(said.contains("My words are scripted"), "{said}");
    assert!(said.contains("Hello! I mend a greeting"), "{said}");
    let end = events.last().unwrap();
    assert_eq!(
        (&end["cause"], &end["exitCode"]),
        (&json!("end_turn"), &json!(0))
    );
    assert_nothing_is_left(&world);
}

#[test]
fn the_text_of_the_demo_has_each_result_once_and_no_riddles() {
    let args = ["run", "--agent", "demo", "--format", "text"];
    let (_world, command) = demo(&args);
    let ran = output(command, b"");
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let text = String::from_utf8(ran.stdout).unwrap();
    let once = [
        "> what can you do?\n", // the usual prompt of the demo: none was given
        "! note: rules of the demo: --allow",
        "● list_directory .\n",
        "Found 2 item(s).",
        "● read_file greet.sh\n",
        "2 lines",
        "+echo \"Hello, $1!\"",
        "ok: Hello, Ada!",
        "  │ denied by --deny 'execute:git push*'\n",
        "● complete_task\n",
        "A rule denied the push, so I leave it to you.",
        "— completed · ",
    ];
    for line in once {
        assert_eq!(text.matches(line).count(), 1, "{line}: {text}");
    }
    for riddle in [
        "token",
        "not shown",
        "diagnostic",
        "0 lines",
        "Edit greet.sh",
        "User rejected",
    ] {
        assert!(!text.contains(riddle), "{riddle}: {text}");
    }
    let told = String::from_utf8(ran.stderr).unwrap();
    assert!(told.contains("is recorded; exit code 0"), "{told}");
}

#[test]
fn a_person_who_says_no_sees_the_test_fail() {
    let (world, mut command) = demo(&["run", "--agent", "demo", "paint it black"]);
    command.env("TERM", "xterm-256color");
    let mut pty = Pty::spawn(&command, (80, 100));
    let asked = pty.wait_for("Allow?");
    assert!(asked.contains("+echo \"Hello, $1!\""), "the diff: {asked}");
    pty.type_in("n\n");
    assert_eq!(pty.ended().code, 0);
    let screen = pty.screen();
    for line in [
        "A script has no answer to “paint it black”.",
        "not ok: expected 'Hello, Ada!', got 'Hello!'",
        "is recorded; exit code 0",
        "lapidary runs open 20",
        "lapidary serve --open",
    ] {
        assert!(screen.contains(line), "{line}: {screen}");
    }
    assert_nothing_is_left(&world);
}

#[test]
fn a_client_of_connect_is_asked_and_can_prompt_the_demo_again() {
    let (world, mut command) = demo(&["connect", "--agent", "demo", "--no-raw"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines_of(&mut child);
    let (mut outputs, mut steered) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        writeln!(stdin, r#"{{"command":"send_message","text":"fix it"}}"#).unwrap();
        loop {
            let line = lines.recv_timeout(DEADLINE).unwrap();
            let event: Value = serde_json::from_str(&line).unwrap();
            match event["event"].as_str().unwrap() {
                "permission_request" if event["toolKind"] == "edit" => {
                    let id = &event["requestId"];
                    writeln!(stdin, r#"{{"command":"steer","text":"hurry up"}}"#).unwrap();
                    writeln!(
                        stdin,
                        r#"{{"command":"permission_response","requestId":{id},"allowed":true}}"#
                    )
                    .unwrap();
                }
                "user_input" if event["text"] == "hurry up" => steered.push(line),
                "command_result" if event["command"] == "steer" => steered.push(line),
                "tool_completion" => outputs.push(event["output"].to_string()),
                "turn_complete" => break,
                _ => {}
            }
        }
    }
    drop(stdin);
    let passed = outputs.iter().filter(|it| it.contains("ok: Hello, Ada!"));
    assert_eq!(passed.count(), 2, "{outputs:?}");
    // The message is an event when it is sent, and a result when the model gets it.
    for (place, told) in [(0, r#""event":"user_input""#), (1, r#""result":{}"#)] {
        assert!(steered[place].contains(told), "{steered:?}");
    }
    while lines.recv_timeout(DEADLINE).is_ok() {}
    assert_eq!(ended(child).status.code(), Some(0));
    assert_nothing_is_left(&world);
}

#[test]
fn the_demo_with_an_output_schema_is_refused_before_it_starts() {
    let args = [
        "run",
        "--agent",
        "demo",
        "--output-schema",
        "s.json",
        "hello",
    ];
    let (world, command) = demo(&args);
    fs::write(world.path("project/s.json"), r#"{"type": "object"}"#).unwrap();
    let ran = output(command, b"");
    assert_eq!(ran.status.code(), Some(13), "{ran:?}");
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.contains("its words are scripted"), "{said}");
    assert!(said.contains("hint: name an agent with a model"), "{said}");
    assert_nothing_is_left(&world);
}
