//! Our tools beside those of the real Gemini CLI, on cases generated from a printed seed.
//!
//! Both get the same calls in the same directory. A text that differs has to be in the list of [`deviations`], and no edit may be
//! wrong. The core of Gemini CLI is large: only the full run installs it. `LAPIDARY_SEED` and `LAPIDARY_CASES` repeat a run.

mod cases;
mod deviations;
mod dice;
mod node;
mod tree;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::support::{Answer, TestWorkspace, call};
use cases::Case;
use dice::Dice;
use node::{Oracle, OracleAnswer};
use tree::Tree;

/// Cases that share a tree.
const CASES_PER_TREE: usize = 50;

#[derive(Debug, Default)]
struct Tally {
    cases: usize,
    equal: usize,
    named: BTreeMap<&'static str, usize>,
    unnamed: Vec<String>,
    wrong: Vec<String>,
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "needs the core of Gemini CLI: run `cargo xtask test --full`"
)]
fn tools_answer_as_those_of_gemini_cli_do() {
    let mut oracle = Oracle::start();
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|value| value.parse::<u64>().ok())
    };
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let seed = number("LAPIDARY_SEED").unwrap_or(now.as_secs());
    let count = number("LAPIDARY_CASES").map_or(2000, |count| usize::try_from(count).unwrap());
    println!("LAPIDARY_SEED={seed} LAPIDARY_CASES={count}");
    let only = std::env::var("LAPIDARY_TOOL").ok();
    let mut dice = Dice::new(seed);
    let mut tallies: BTreeMap<&'static str, Tally> = BTreeMap::new();
    let mut done = 0;
    while done < count {
        let tree = Tree::grow(&mut dice);
        for _ in 0..CASES_PER_TREE.min(count - done) {
            done += 1;
            let case = Case::draw(&mut dice, &tree);
            if only.as_ref().is_none_or(|only| only == case.tool) {
                compare(
                    &mut oracle,
                    &tree,
                    &case,
                    tallies.entry(case.tool).or_default(),
                );
            }
        }
    }
    println!("{}", report(&tallies));
    let wrong: usize = tallies.values().map(|tally| tally.wrong.len()).sum();
    assert_eq!(wrong, 0, "edits are wrong");
    let unnamed: usize = tallies.values().map(|tally| tally.unnamed.len()).sum();
    assert!(
        unnamed * 100 <= count,
        "{unnamed} of {count} differ without a name"
    );
}

fn compare(oracle: &mut Oracle, tree: &Tree, case: &Case, tally: &mut Tally) {
    let workspace = &tree.workspace;
    let before = tree.bytes(case);
    let theirs = oracle.ask(case, workspace);
    let their_bytes = tree.bytes(case);
    tree.restore(case, before.as_deref());
    let ours = call(&workspace.open(), case.tool, &case.arguments);
    let our_bytes = tree.bytes(case);
    tree.restore(case, before.as_deref());
    tally.cases += 1;
    let compared = Compared {
        case,
        tree,
        ours: &normal(workspace, case, ours),
        theirs: &theirs,
        before: before.as_deref(),
        our_bytes: our_bytes.as_deref(),
        their_bytes: their_bytes.as_deref(),
    };
    if deviations::is_wrong(&compared) {
        tally.wrong.push(compared.told());
    }
    if compared.is_equal() {
        tally.equal += 1;
    } else if let Some(name) = deviations::name(&compared) {
        *tally.named.entry(name).or_default() += 1;
    } else {
        tally.unnamed.push(compared.told());
    }
}

/// One case and what came of it on both sides.
struct Compared<'a> {
    case: &'a Case,
    tree: &'a Tree,
    ours: &'a OracleAnswer,
    theirs: &'a OracleAnswer,
    before: Option<&'a [u8]>,
    our_bytes: Option<&'a [u8]>,
    their_bytes: Option<&'a [u8]>,
}

impl Compared<'_> {
    fn is_equal(&self) -> bool {
        self.ours == self.theirs && self.our_bytes == self.their_bytes
    }

    fn told(&self) -> String {
        let mut told = String::new();
        let _ = writeln!(told, "{} {}", self.case.tool, self.case.arguments);
        let _ = writeln!(told, "  ours:   {:?}", self.ours);
        let _ = writeln!(told, "  theirs: {:?}", self.theirs);
        if self.our_bytes != self.their_bytes {
            let shown = |bytes: Option<&[u8]>| {
                bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            let _ = writeln!(told, "  before: {:?}", shown(self.before));
            let _ = writeln!(told, "  ours:   {:?}", shown(self.our_bytes));
            let _ = writeln!(told, "  theirs: {:?}", shown(self.their_bytes));
        }
        told
    }
}

/// Our answer in the form of theirs.
fn normal(workspace: &TestWorkspace, case: &Case, answer: Answer) -> OracleAnswer {
    let text = node::normal(workspace, case, &answer.text);
    OracleAnswer {
        text,
        parts: answer.parts,
        error: answer.error,
    }
}

/// The table of a run.
fn report(tallies: &BTreeMap<&'static str, Tally>) -> String {
    let mut report = String::new();
    for (tool, tally) in tallies {
        let (cases, equal, unnamed) = (tally.cases, tally.equal, tally.unnamed.len());
        let _ = writeln!(
            report,
            "{tool}: {cases} cases, {equal} equal, {unnamed} without a name, named: {:?}",
            tally.named
        );
        for told in tally.unnamed.iter().take(8).chain(&tally.wrong) {
            let _ = writeln!(report, "{told}");
        }
    }
    report
}
