//! The end of a conversation, for every cause: each command has its result, and the one `run_end` is last.

use lapidary_testkit::patience::again_with_more_time;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::peer::Peer;

#[test]
fn an_agent_that_dies_fails_all_that_is_under_way() {
    let mut peer = Peer::new();
    let opened: Vec<_> = ["hang", "say free", "say up; wait go; die 3"]
        .iter()
        .map(|prompt| peer.give("create_session", json!({"cwd": "", "prompt": prompt})))
        .collect();
    peer.hears("up");
    let waiting = peer.give(
        "send_message",
        json!({"sessionId": "s1", "text": "say never"}),
    );
    peer.does("interrupt", json!({"sessionId": "s2"})); // the commands before this one are under way
    peer.make("go");
    for id in [&opened[0], &opened[2], &waiting] {
        assert_eq!(peer.failed(id), "the agent has ended with exit code 3");
    }
    let over = peer.end();
    assert_eq!(over.cause(), ("agent_crashed", Some(15)));
}

#[test]
fn an_agent_that_dies_while_nothing_is_asked_of_it_is_noticed() {
    let mut peer = Peer::new();
    let prompt = peer.prompt("say a");
    peer.done(&prompt);
    let agent = peer.world.path("agent").display().to_string();
    let found = peer.world.processes();
    let is_agent = |(_, line): &&(i32, String)| line.contains("python") && line.contains(&agent);
    let (pid, _) = found.iter().find(is_agent).unwrap();
    kill(Pid::from_raw(*pid), Signal::SIGKILL).unwrap();
    let over = peer.end();
    assert_eq!(over.cause(), ("agent_crashed", Some(15)));
}

#[test]
fn commands_that_come_when_the_agent_is_gone_do_not_hang() {
    let mut peer = Peer::new();
    let last = peer.prompt("die 4");
    peer.failed(&last);
    peer.say(b"{\"command\":\"interrupt\"}\n");
    assert_eq!(peer.end().cause(), ("agent_crashed", Some(15)));
}

#[test]
fn a_turn_is_finished_after_the_client_closes_its_commands() {
    let mut peer = Peer::new();
    let prompt = peer.prompt("say a; wait go; say b");
    peer.hears("a");
    peer.close();
    peer.make("go");
    peer.done(&prompt);
    let over = peer.end();
    assert_eq!(
        (over.words().as_str(), over.cause()),
        ("ab", ("end_turn", Some(0)))
    );
}

#[test]
fn a_signal_ends_it_though_stdin_stays_open() {
    for (prompt, expected) in [("say a; hang", false), ("say a; deaf", true)] {
        let mut peer = Peer::with("", &["--grace", "0.3"]);
        let id = peer.prompt(prompt);
        peer.hears("a");
        kill(
            Pid::from_raw(peer.child.id().try_into().unwrap()),
            Signal::SIGTERM,
        )
        .unwrap();
        let result = peer.result(&id);
        assert_eq!(result["isError"] == true, expected, "{result}");
        assert_eq!(peer.end().cause(), ("cancelled_by_client", Some(130)));
    }
}

#[test]
fn connect_ends_when_its_stdout_is_closed() {
    let world = crate::run::world::World::with_agent("exit 1");
    world.program("agent", include_str!("../../../../../examples/agent.py"));
    let agent = world.path("agent").display().to_string();
    let mut command = world.lapidary(&["connect", "--agent", &agent]);
    command.stdin(std::process::Stdio::piped());
    let (reader, writer) = std::io::pipe().unwrap();
    let mut child = command.stdout(writer).spawn().unwrap();
    drop(command);
    drop(reader);
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(
        &mut stdin,
        b"{\"command\":\"send_message\",\"text\":\"say a; hang\"}\n",
    )
    .unwrap();
    let output = crate::support::ended(child);
    assert_eq!(output.status.code(), Some(130));
    drop(stdin);
    world.assert_nothing_is_left();
}

#[test]
fn the_start_and_idle_timeouts_end_a_conversation() {
    let mut silent = Peer::with("silent", &["--start-timeout", "0.3"]);
    let never = silent.prompt("say never");
    assert_eq!(
        silent.failed(&never),
        "the agent was ended before this was done"
    );
    assert_eq!(silent.end().cause(), ("timeout_start", Some(14)));
    again_with_more_time(0.5, who_thinks_is_not_idle);
}

fn who_thinks_is_not_idle(timeout: f64) {
    let seconds = timeout.to_string();
    let mut idle = Peer::with("", &["--idle-timeout", &seconds, "--grace", "0.2"]);
    let asked = idle.prompt("ask edit a; hang");
    let request = idle.event("permission_request");
    // The user takes time for the answer: the agent is not idle meanwhile.
    std::thread::sleep(std::time::Duration::from_secs_f64(timeout * 1.6));
    idle.does(
        "permission_response",
        json!({"requestId": request["requestId"], "allowed": false}),
    );
    idle.done(&asked);
    assert_eq!(idle.end().cause(), ("timeout_idle", Some(14)));
}
