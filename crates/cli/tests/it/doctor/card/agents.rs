//! Agents that are shell scripts: what each does is on its card.

use serde_json::json;

use super::{assert_all_gone, card, message, states, visit, without_times};
use crate::doctor::{SECRET, Visit};
use crate::run::world::World;

/// Shell functions that answer each line as an agent would. A script between them and `LOOP` may redefine some.
const AGENT: &str = r#"
cd "$(dirname "$0")"; echo $$ > pids; env > env
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
refuse() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$1"; }
say() { update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"; }
initialize() { answer '{"protocolVersion":1,"agentInfo":{"name":"scripted","version":"7"},"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true},"sessionCapabilities":{"list":{}}},"authMethods":[{"id":"key","name":"A key"}]}'; }
session_new() { answer '{"sessionId":"s","modes":{"currentModeId":"ask","availableModes":[{"id":"ask"},{"id":"plan"}]},"configOptions":[{"id":"model","category":"model","type":"select","options":[{"value":"m1"},{"value":"m2"}]}]}'; }
prompt() { say Hello; update '{"sessionUpdate":"usage_update","used":1,"size":2}'; answer '{"stopReason":"end_turn"}'; }
wait_prompt() { say Wait; waiting=$id; }
cancel() { id=$waiting; answer '{"stopReason":"cancelled"}'; }
unknown() { refuse -32601 'no such method'; }
"#;

const LOOP: &str = r#"
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*) initialize;;
    *'"method":"session/new"'*) session_new;;
    *lapidary-wait*) wait_prompt;;
    *'"method":"session/prompt"'*) prompt;;
    *'"method":"session/cancel"'*) cancel;;
    *'"method":"_lapidary/unknown"'*) unknown;;
  esac
done
"#;

/// A world with an agent that does some things its own way.
fn world(own: &str) -> (World, String) {
    let world = World::with_agent("exit 1");
    world.program("agent", &format!("#!/bin/sh\n{AGENT}\n{own}\n{LOOP}"));
    let agent = world.path("agent").to_str().unwrap().to_owned();
    (world, agent)
}

#[test]
fn the_doctor_says_that_an_agent_keeps_to_the_protocol() {
    let (world, agent) = world("");
    let seen = visit(&world, &agent, &["--prove", "--format", "text"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let shown: Vec<_> = without_times(&seen.stdout)
        .lines()
        .skip_while(|line| !line.contains("acp start"))
        .map(str::to_owned)
        .collect();
    let expected = "\
ok       acp start        scripted 7 speaks protocol 1 (T)
ok       acp abilities    load, list, images
                          not: resume, close, delete, audio, embedded resources, MCP over http, MCP over sse
                          ways to log in: key
ok       acp session      a session is opened without an account (T)
ok       acp modes        ask, plan; now ask
ok       acp options      model
                          models: m1, m2
unproven acp turn         a turn ends with \"end_turn\", but the mock model was not called: how to point this agent at a model is not known (T)
                          it said: Hello
unproven acp permission   the agent offered its model no shell tool that Lapidary knows
ok       acp usage        reported in usage_update
ok       acp cancel       a cancelled turn ends with \"cancelled\" after N ms (T)
ok       acp unknown      an unknown method is refused with -32601 after N ms
ok       acp shutdown     it ends when its stdin is closed (T)
ok       acp leftovers    nothing of it is left running
ok       acp stdout       nothing but messages
unproven prove rules      the mock model was not called
unproven prove servers    the mock model was not called
all is well";
    assert_eq!(shown.join("\n"), expected);
    assert_all_gone(&world);
}

#[test]
fn a_program_gets_the_card_as_the_schema_has_it() {
    let (world, agent) = world("");
    let seen = visit(&world, &agent, &["--prove"]);
    assert_eq!(seen.checkup()["agent"], agent.as_str());
    let mut card = card(&seen);
    // The agent answers at once, and the card has the time of that answer.
    assert!(card["cancel"]["ms"].as_u64().unwrap() < 2000, "{card}");
    for (object, field) in [
        ("cancel", "ms"),
        ("unknownMethod", "ms"),
        ("shutdown", "ms"),
    ] {
        assert!(card[object][field].take().is_u64(), "{object}");
    }
    assert!(card["startMs"].take().is_u64());
    let expected = json!({
        "command": [agent],
        "startMs": null,
        "protocolVersion": 1,
        "agentName": "scripted",
        "agentVersion": "7",
        "abilities": {
            "load": true, "list": true, "resume": false, "close": false, "delete": false,
            "image": true, "audio": false, "embedded": false, "mcpHttp": false, "mcpSse": false,
        },
        "rules": "watched",
        "authMethods": ["key"],
        "session": { "opened": true, "mode": "ask", "modes": ["ask", "plan"], "options": ["model"], "models": ["m1", "m2"] },
        "turn": { "stopReason": "end_turn", "modelAsked": false, "textArrived": false, "usageIn": ["usage_update"] },
        "cancel": { "ms": null, "stopReason": "cancelled" },
        "unknownMethod": { "answered": true, "code": -32601, "ms": null },
        "shutdown": { "by": "eof", "ms": null },
        "noiseLines": 0,
    });
    assert_eq!(card, expected);
}

/// Neither a key nor a home nor a way out.
#[test]
fn a_proved_agent_gets_no_key_home_or_network() {
    let (world, agent) = world("");
    visit(&world, &agent, &["--prove"]);
    let seen = std::fs::read_to_string(world.path("env")).unwrap();
    assert!(!seen.contains(SECRET), "{seen}");
    let value = |name: &str| {
        let line = seen.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name}: {seen}"))
            .to_owned()
    };
    let home = world.path("home");
    assert!(!value("HOME=").contains(home.to_str().unwrap()));
    assert_eq!(value("HTTPS_PROXY="), "http://127.0.0.1:9");
    assert!(value("ANTHROPIC_BASE_URL=").starts_with("http://127.0.0.1:"));
}

#[test]
fn an_agent_that_needs_a_login_is_probed_no_further() {
    let (world, agent) = world("session_new() { refuse -32000 'Authentication required'; }");
    let seen = visit(&world, &agent, &["--prove"]);
    let expected = [
        "start ok",
        "abilities ok",
        "session unproven",
        "unknown ok",
        "shutdown ok",
        "leftovers ok",
        "stdout ok",
    ];
    assert_eq!(
        (seen.code, states(&seen)),
        (Some(0), expected.map(str::to_owned).to_vec())
    );
    assert_eq!(
        message(&seen, "acp_session"),
        "the agent needs a login, which is not possible here: Authentication required (-32000)"
    );
    assert_eq!(
        card(&seen)["session"],
        json!({ "opened": false, "errorCode": -32000 })
    );
}

#[test]
fn each_deviation_of_an_agent_from_the_protocol_is_a_problem() {
    let own = "wait_prompt() { say Wait; }; cancel() { :; }; unknown() { :; }; echo A banner; trap '' TERM
finish() { while :; do sleep 1; done; }; trap finish EXIT";
    let (world, agent) = world(own);
    let seen = visit(&world, &agent, &["--prove"]);
    let expected = [
        "start ok",
        "abilities ok",
        "session ok",
        "modes ok",
        "options ok",
        "turn unproven",
        "permission unproven",
        "usage ok",
        "cancel problem",
        "unknown warning",
        "shutdown warning",
        "leftovers ok",
        "stdout warning",
    ];
    assert_eq!(
        (seen.code, states(&seen)),
        (Some(1), expected.map(str::to_owned).to_vec()),
        "{seen:?}"
    );
    let card = card(&seen);
    assert_eq!(card["unknownMethod"]["answered"], false);
    assert_eq!(
        (&card["shutdown"]["by"], &card["noiseLines"]),
        (&json!("kill"), &json!(1))
    );
    assert_all_gone(&world);
}

#[test]
fn an_agent_that_dies_of_an_unknown_method_is_a_problem() {
    let (world, agent) = world("unknown() { echo 'what is that' >&2; exit 4; }");
    let seen = visit(&world, &agent, &["--prove"]);
    assert!(
        states(&seen).contains(&"unknown problem".to_owned()),
        "{seen:?}"
    );
    assert_eq!(card(&seen)["shutdown"]["by"], "itself");
}

#[test]
fn an_agent_of_another_protocol_version_is_a_problem() {
    let (world, agent) = world(r#"initialize() { answer '{"protocolVersion":99}'; }"#);
    let seen = visit(&world, &agent, &["--prove"]);
    assert_eq!(
        (seen.code, states(&seen)[0].as_str()),
        (Some(1), "start problem")
    );
    assert_eq!(
        message(&seen, "acp_start"),
        "it speaks protocol 99, and does not say who it is"
    );
}

/// Its variables are set, unless they may be an account.
#[test]
fn an_agent_of_the_configuration_is_started_with_its_command_and_variables() {
    let (world, agent) = world("");
    let config = format!(
        "[agents.mine]\ncommand = '{agent} --fast'\nenv = {{ COLOUR = 'blue', MY_API_KEY = '{SECRET}' }}\n"
    );
    let file = world.path("home/.config/lapidary/lapidary.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, config).unwrap();
    let seen = visit(&world, "mine", &["--prove"]);
    assert_eq!(seen.checkup()["agent"], "mine");
    assert_eq!(card(&seen)["command"], json!([agent, "--fast"]));
    let checkup = seen.checkup();
    let details = &checkup["checks"][0]["details"];
    assert_eq!(*details, json!(["lapidary.toml says how it is started"]));
    let variables = std::fs::read_to_string(world.path("env")).unwrap();
    assert!(variables.contains("COLOUR=blue"), "{variables}");
    assert!(!variables.contains(SECRET), "{variables}");
}

/// Without --prove nothing is started.
#[test]
fn an_agent_is_looked_for_and_not_started() {
    let (world, agent) = world("");
    let seen = visit(&world, &agent, &[]);
    assert_eq!((seen.code, states(&seen)), (Some(0), Vec::new()));
    assert_eq!(message(&seen, "agent"), format!("`agent` at `{agent}`"));
    assert!(!world.path("pids").exists());
    assert!(seen.checkup().get("card").is_none());
}

#[test]
fn an_agent_that_is_known_and_not_here_is_a_problem_with_a_remedy() {
    let world = World::with_agent("exit 1");
    let mut command = world.lapidary(&["doctor", "--agent", "codex"]);
    command.env("PATH", world.path("bin"));
    let seen = Visit::of(command);
    let checkup = seen.checkup();
    let agent = &checkup["checks"][0];
    assert_eq!((seen.code, &agent["state"]), (Some(1), &json!("problem")));
    assert_eq!(
        agent["remedy"],
        "install it with `npm install -g @agentclientprotocol/codex-acp`"
    );
}

#[test]
fn known_agents_are_listed_with_the_way_to_install_them() {
    let world = World::with_agent("echo 0.61.0");
    std::fs::create_dir(world.path("bin")).unwrap();
    world.program("bin/opencode", "#!/bin/sh\nsleep 1000\n");
    let mut command = world.lapidary(&["doctor"]);
    command.env("PATH", world.path("bin"));
    let seen = Visit::of(command);
    assert_eq!(
        message(&seen, "agents"),
        "here and speaking ACP: gemini, opencode"
    );
    let checkup = seen.checkup();
    let checks = checkup["checks"].as_array().unwrap();
    let details = checks.last().unwrap()["details"].as_array().unwrap();
    let claude = "claude: install it with `npm install -g @agentclientprotocol/claude-agent-acp`";
    assert_eq!(details[0], claude);
}

#[test]
fn an_agent_that_cannot_be_checked_is_bad_input() {
    let world = World::with_agent("exit 1");
    for (agent, says) in [
        ("no-such-agent", "unknown agent `no-such-agent`"),
        ("demo", "there is nothing to check"),
        ("'half", "cannot read the command line"),
    ] {
        let seen = visit(&world, agent, &[]);
        assert_eq!(seen.stdout, "", "{agent}");
        assert!(seen.stderr.contains(says), "{agent}: {seen:?}");
        assert!(seen.code > Some(0), "{agent}: {seen:?}");
    }
}
