//! Many runs at once in one project, beside the bare CLI, with kills at random: every prompt that the model was asked is in
//! `sessions show` or `sessions recover` afterwards.
//!
//! `cargo xtask soak` runs it for an hour. Here it is a few rounds. `LAPIDARY_SOAK_SEED` and `LAPIDARY_SOAK_MINUTES` say which and how
//! long; a failure names its seed and keeps its home.

mod dice;
mod operation;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use lapidary_standin::api::{Script, ScriptRule, Turn};
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use serde_json::{Value, json};

use self::dice::Dice;
use self::operation::{ALONE, Doing, Operation};
use super::vault::at_once::plant;
use super::world::Real;
use crate::support::started;

/// How many rounds a run of the test suite has.
const ROUNDS: usize = 5;

/// How many rounds a world lasts: sessions that grow for ever say nothing new.
const ROUNDS_OF_A_WORLD: usize = 10;

const SESSIONS: [&str; 3] = [
    "aaaaaaaa-1111-4111-8111-111111111111",
    "bbbbbbbb-2222-4222-8222-222222222222",
    "cccccccc-3333-4333-8333-333333333333",
];

/// Counts of the operations, and of the prompts by the command that still shows them.
#[derive(Default)]
struct Tally {
    rounds: usize,
    done: BTreeMap<String, usize>,
    /// Resumes during which the agent or one of us was killed, or another CLI started.
    disturbed: usize,
    asked: usize,
    shown: usize,
    recovered: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.done.iter();
        let done: Vec<_> = done
            .map(|(what, count)| format!("{count} {what}"))
            .collect();
        write!(
            f,
            "{} rounds, {} disturbed resumes ({}); {} prompts were asked: {} are in `show`, {} in `recover`",
            self.rounds,
            self.disturbed,
            done.join(", "),
            self.asked,
            self.shown,
            self.recovered
        )
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn no_prompt_is_lost_whatever_happens_at_once() {
    let given = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let seed = given("LAPIDARY_SOAK_SEED").unwrap_or(1);
    let minutes = given("LAPIDARY_SOAK_MINUTES");
    let until = minutes.map(|it| Instant::now() + Duration::from_mins(it));
    let goes_on = |tally: &Tally| match until {
        Some(until) => Instant::now() < until,
        None => tally.rounds < ROUNDS,
    };
    let mut tally = Tally::default();
    let mut dice = Dice::new(seed);
    while goes_on(&tally) {
        let mut soak = Soak::new(seed);
        for _ in 0..ROUNDS_OF_A_WORLD {
            if goes_on(&tally) {
                soak.round(&mut dice, &mut tally);
            }
        }
        if minutes.is_some() {
            report(&format!("{tally}"));
        }
        soak.is_over = true;
    }
    report(&format!("soak with seed {seed}: {tally}"));
}

/// Progress of a soak that runs for an hour.
#[expect(clippy::print_stderr, reason = "shown with --nocapture")]
fn report(text: &str) {
    eprintln!("{text}");
}

/// A world, and the prompts that were sent in it.
struct Soak {
    real: Real,
    seed: u64,
    prompts: usize,
    /// Prompts that the model was asked, with the session that they were sent to, if it is known.
    asked: Vec<(String, Option<&'static str>)>,
    is_over: bool,
}

impl Drop for Soak {
    fn drop(&mut self) {
        if !self.is_over {
            self.real.world.keep();
            report(&format!(
                "the soak failed with seed {}; its home is {}",
                self.seed,
                self.real.world.root().display()
            ));
        }
    }
}

impl Soak {
    fn new(seed: u64) -> Self {
        let shell = json!({"command": "sleep 0.2"});
        let calls = Turn::text("I look.").and_call("run_shell_command", shell);
        let script = Script::new()
            .rule(ScriptRule::new(calls).last("with tools"))
            .rule(ScriptRule::new(
                Turn::text("Fine.").delay(Duration::from_millis(150)),
            ));
        let real = Real::new(V0_61_0, script);
        for id in SESSIONS.into_iter().chain([ALONE]) {
            plant(&real, id, &format!("first of {id}"));
        }
        Self {
            real,
            seed,
            prompts: 0,
            asked: Vec::new(),
            is_over: false,
        }
    }

    fn round(&mut self, dice: &mut Dice, tally: &mut Tally) {
        let count = 2 + dice.below(3);
        let mut doings: Vec<Doing> = Vec::new();
        let mut new = Vec::new();
        for _ in 0..count {
            self.prompts += 1;
            let prompt = format!("prompt-{}-{}-of-the-soak", self.seed, self.prompts);
            let operation = Operation::random(dice, &SESSIONS, &prompt);
            *tally.done.entry(operation.name()).or_default() += 1;
            new.extend(operation.prompt());
            doings.push(operation.start(&self.real, dice));
        }
        // Each round has at least two operations: a resume among them is disturbed.
        tally.disturbed += doings.iter().filter(|it| it.is_resume()).count();
        thread::scope(|scope| {
            for doing in doings {
                scope.spawn(|| doing.finish());
            }
        });
        tally.rounds += 1;
        let known = self.asked.len();
        let requests = self.real.api.requests();
        let bodies: Vec<String> = requests.iter().map(|it| it.body.to_string()).collect();
        for (prompt, session) in new {
            if bodies.iter().any(|body| body.contains(&prompt)) {
                tally.asked += 1;
                self.asked.push((prompt, session));
            }
        }
        self.check(known, tally);
    }

    /// Finishes what killed runs left, and looks for every prompt so far. The first ones were counted before.
    fn check(&self, counted: usize, tally: &mut Tally) {
        self.ours(&["sessions", "recover", "--apply", "--format", "json"]);
        let mut shown: BTreeMap<String, String> = BTreeMap::new();
        for (number, (prompt, session)) in self.asked.iter().enumerate() {
            let is_new = usize::from(number >= counted);
            let session = session.map(str::to_owned);
            let session = session.or_else(|| self.session_of(prompt));
            let Some(id) = session else {
                panic!("seed {}: `{prompt}` is in no session", self.seed);
            };
            let text = shown
                .entry(id.clone())
                .or_insert_with(|| self.ours(&["sessions", "show", &id, "--format", "messages"]));
            if text.contains(prompt.as_str()) {
                tally.shown += is_new;
                continue;
            }
            let everything = [
                "sessions",
                "recover",
                &id,
                "--everything",
                "--format",
                "json",
            ];
            let found = self.ours(&everything);
            assert!(
                found.contains(prompt.as_str()),
                "seed {}: `{prompt}` is lost from session {id}: {found}",
                self.seed
            );
            tally.recovered += is_new;
        }
    }

    /// The session of a run that began a new one.
    fn session_of(&self, prompt: &str) -> Option<String> {
        let found = self.ours(&["sessions", "search", prompt, "--format", "json"]);
        let found: Value = serde_json::from_str(&found).ok()?;
        if let Some(id) = found["hits"][0]["id"].as_str() {
            return Some(id.to_owned());
        }
        // A turn that was rolled back is in no search: each file is looked at.
        let list = self.ours(&["sessions", "list", "--hidden", "--format", "json"]);
        let list: Value = serde_json::from_str(&list).ok()?;
        let sessions = list["sessions"].as_array().into_iter().flatten();
        let hidden = list["hidden"].as_array().into_iter().flatten();
        let paths = sessions.chain(hidden).filter_map(|it| it["path"].as_str());
        let path = paths
            .into_iter()
            .find(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(prompt)))?;
        let text = fs::read_to_string(path).ok()?;
        let header: Value = serde_json::from_str(text.lines().next()?).ok()?;
        Some(header["sessionId"].as_str()?.to_owned())
    }

    fn ours(&self, args: &[&str]) -> String {
        let output = started(super::vault::ours(&self.real, args), b"");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
