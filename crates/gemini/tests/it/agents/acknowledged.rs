//! Acknowledgements: the real Gemini CLI reads ours, and we read those of the real one.

use std::path::Path;
use std::process::Command;

use lapidary_gemini::agents::{AcknowledgedAgents, acknowledgement_hash, parse_agents};
use lapidary_testkit::gemini::GeminiVersion;

use super::{agent, trusted};

const FILE: &str = "home/.gemini/acknowledgments/agents.json";

#[test]
fn a_file_that_is_not_json_acknowledges_nothing_and_is_not_overwritten() {
    let machine = trusted().file(FILE, "{not json");
    let agents = parse_agents(Path::new("one.md"), &agent("one", "")).unwrap();
    let mut acknowledged = AcknowledgedAgents::read(&machine.home());
    assert!(!acknowledged.has(&machine.project(), &agents[0]));
    assert!(acknowledged.problem().is_some());
    assert!(
        acknowledged
            .acknowledge(&machine.project(), &agents)
            .is_err()
    );
    assert_eq!(
        std::fs::read_to_string(machine.path(FILE)).unwrap(),
        "{not json"
    );
}

#[test]
fn a_remote_agent_is_acknowledged_by_its_card() {
    let parse = |card: &str| {
        parse_agents(Path::new("x.md"), &format!("---\nname: far\n{card}\n---\n")).unwrap()
    };
    let url = acknowledgement_hash(&parse("agent_card_url: https://a.example/card")[0]);
    assert_eq!(url.as_deref(), Some("https://a.example/card"));
    let inline = acknowledgement_hash(&parse("agent_card_json: '{}'")[0]);
    let sha256_of_braces = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(inline.as_deref(), Some(sha256_of_braces));
}

/// The service of the real CLI asks for one agent of ours and adds one of its own.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_reads_our_acknowledgements_and_we_read_its() {
    let machine = trusted();
    let ours = parse_agents(Path::new("one.md"), &agent("one", "")).unwrap();
    let mut acknowledged = AcknowledgedAgents::read(&machine.home());
    acknowledged.acknowledge(&machine.project(), &ours).unwrap();
    let theirs = parse_agents(Path::new("two.md"), &agent("two", "")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/agents/acknowledged.mjs");
    let output = Command::new("node")
        .arg(script)
        .arg(GeminiVersion::V0_61_0.program().parent().unwrap())
        .arg(machine.path(FILE))
        .arg(machine.project())
        .args(["one", &acknowledgement_hash(&ours[0]).unwrap()])
        .args(["two", &acknowledgement_hash(&theirs[0]).unwrap()])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "true false",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let now = AcknowledgedAgents::read(&machine.home());
    assert!(now.has(&machine.project(), &ours[0]) && now.has(&machine.project(), &theirs[0]));
}
