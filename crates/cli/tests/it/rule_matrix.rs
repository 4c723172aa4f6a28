//! Rules and modes with real agents: eight attempts in each of four situations, each judged by its effect. The table in
//! `docs/permissions.md` has the results.

mod situation;
mod table;

use std::fs;
use std::thread;

use lapidary_standin::api::{FakeApi, Script};
use lapidary_standin::attempt::{
    AgentTools, AttemptScene, AttemptedAction, lay_out, turns_played, vault_server,
};
use lapidary_testkit::acp::{AcpWorld, Peer};
use serde_json::{Value, json};

use situation::Situation;
use table::Cell;

use crate::run::world::{MARK, Mark, Told};
use crate::support::lapidary;

/// The results of all attempts of a run.
struct Played {
    told: Told,
    attempts: Vec<Tried>,
}

struct Tried {
    attempt: AttemptedAction,
    /// Whether the model was told of a tool for it.
    is_offered: bool,
    /// Whether its effect was seen.
    is_done: bool,
}

/// One run in which the model makes these attempts, one after the other.
fn play(peer: Peer, situation: Situation, attempts: &[AttemptedAction]) -> Played {
    let world = AcpWorld::new(peer);
    let site = FakeApi::start_in_thread(Script::new()).unwrap();
    lay_out(&world.project()).unwrap();
    if situation == Situation::Hostile {
        situation::spoil(peer, &world.project());
    }
    let tools = AgentTools::for_family(peer.name()).unwrap();
    let script = tools.script(attempts, &world.project(), &site.base_url());
    let model = FakeApi::start_in_thread(script).unwrap();
    let told = run(peer, &world, situation, &model);
    assert!(
        turns_played(&model) > 0,
        "{peer:?}, {situation:?}: the agent did not ask its model: {told:?}"
    );
    let scene = AttemptScene {
        project: &world.project(),
        model: &model,
        site: &site,
    };
    let attempts = attempts.iter().map(|attempt| Tried {
        attempt: *attempt,
        is_offered: tools.is_offered(*attempt, &model),
        is_done: scene.is_done(*attempt),
    });
    Played {
        told,
        attempts: attempts.collect(),
    }
}

fn run(peer: Peer, world: &AcpWorld, situation: Situation, model: &FakeApi) -> Told {
    let servers = world.root().join("servers.json");
    let mut command = lapidary(["run", "--no-config", "--format", "events", "--agent"]);
    let vault = vault_server(command.get_program().as_ref(), &world.project());
    fs::write(
        &servers,
        json!({ "mcpServers": { "vault": vault } }).to_string(),
    )
    .unwrap();
    let mark = Mark::fresh();
    command.arg(peer.name()).arg("--mcp-config").arg(servers);
    command
        .args(situation.args(peer))
        .arg("go")
        .current_dir(world.project())
        .env_clear()
        .envs(world.named_environment(&model.base_url()))
        .env("LAPIDARY_STATE_DIR", world.root().join("state"))
        .env(MARK, mark.value());
    let told = Told::started_by(command);
    mark.assert_nothing_is_left();
    told
}

impl Played {
    /// What became of each attempt. A call that ran without permission and without a violation is a fault of ours.
    fn cells(&self, peer: Peer, situation: Situation) -> Vec<Cell> {
        let attempts = self.attempts.iter();
        attempts
            .map(|tried| {
                let attempt = tried.attempt;
                let decision = self.decision(attempt);
                let is_allowed = situation.allows(peer, attempt) || decision == Some("allowed");
                let is_violated = self.has_violation(attempt);
                assert!(
                    is_allowed || is_violated || !tried.is_done,
                    "{peer:?}, {situation:?}: {attempt:?} was done in silence: {:?}",
                    self.told
                );
                match (decision, is_violated) {
                    (_, true) => Cell::Stopped,
                    (Some("denied"), _) => Cell::Denied,
                    _ if !tried.is_offered => Cell::NoTool,
                    _ if is_allowed => Cell::Allowed,
                    _ => Cell::Nothing,
                }
            })
            .collect()
    }

    fn decision(&self, attempt: AttemptedAction) -> Option<&str> {
        let events = self.told.events.iter();
        let decisions = events.filter(|event| event["event"] == "permission_decision");
        let about = decisions.filter(|event| attempt.is_about(event));
        let words = about.filter_map(|event| event["decision"].as_str());
        words.max() // a file that may be read may not be written: `denied` counts
    }

    fn has_violation(&self, attempt: AttemptedAction) -> bool {
        let violations = self.told.end()["violations"].as_array();
        let mut violations = violations.into_iter().flatten();
        violations.any(|violation: &Value| attempt.is_about(violation))
    }
}

/// An agent in each of these situations.
fn cases(peer: Peer, situations: &[Situation]) -> Vec<(Peer, Situation)> {
    let situations = situations.iter();
    situations.map(|situation| (peer, *situation)).collect()
}

/// Plays two runs at a time.
fn rows(cases: &[(Peer, Situation)]) -> Vec<table::Row> {
    let halves = cases.chunks(cases.len().div_ceil(2));
    thread::scope(|scope| {
        let threads: Vec<_> = halves
            .map(|half| scope.spawn(|| half.iter().map(|case| row(*case)).collect::<Vec<_>>()))
            .collect();
        let done = threads.into_iter().map(|thread| thread.join().unwrap());
        done.flatten().collect()
    })
}

fn row((peer, situation): (Peer, Situation)) -> table::Row {
    let all = AttemptedAction::ALL;
    let runs = match peer {
        Peer::Qwen | Peer::Codex => all.chunks(1), // a denial ends their turn
        _ => all.chunks(all.len()),
    };
    let cells = runs.flat_map(|attempts| play(peer, situation, attempts).cells(peer, situation));
    table::Row::new(peer, situation, cells.collect())
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn no_agent_does_in_silence_what_is_not_allowed() {
    // A start of opencode costs five seconds: it is tried where it is told the most, and where its project is against us.
    let all = [
        cases(Peer::Gemini061, &Situation::ALL),
        cases(Peer::Claude, &Situation::ALL),
        cases(Peer::Opencode, &[Situation::Rule, Situation::Hostile]),
    ];
    table::check(&rows(&all.concat()));
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and its other situations are always tried: run `cargo xtask test --full`"
)]
fn opencode_does_nothing_in_silence_without_flags_and_with_yolo() {
    let others = [Situation::Default, Situation::Yolo];
    table::check(&rows(&cases(Peer::Opencode, &others)));
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn qwen_does_nothing_in_silence_that_is_not_allowed() {
    table::check(&rows(&cases(Peer::Qwen, &Situation::ALL)));
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn codex_does_nothing_in_silence_that_is_not_allowed() {
    table::check(&rows(&cases(Peer::Codex, &Situation::ALL)));
}
