//! Our tools beside those of the real Gemini CLI, on cases generated from a printed seed.
//!
//! Both get the same calls in the same directory. A text that differs has to be in the list of [`deviations`], and no edit may be
//! wrong. The core of the installed Gemini CLI is loaded as a module. `LAPIDARY_SEED`, `LAPIDARY_CASES` and `LAPIDARY_TOOL` repeat a
//! run, `LAPIDARY_NAMED` prints the cases of each named deviation.

mod cases;
mod deviations;
pub(crate) mod dice;
pub(crate) mod node;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::json;

use crate::support::{Answer, TestWorkspace};
use cases::Case;
use dice::Dice;
use node::{Oracle, OracleAnswer};
use tree::Tree;

/// Cases that share a tree.
const CASES_PER_TREE: usize = 50;
#[cfg(not(feature = "full"))]
const CASES: usize = 2000;
#[cfg(feature = "full")]
const CASES: usize = 6000;

/// Ways in which our tools may differ.
const MOST_DEVIATIONS: usize = 20;

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    /// The same, or the same but for the order that the file system has.
    Equal,
    /// As Gemini CLI answers on a machine that has `grep`. The call was made without, so that its own search answers: that one also
    /// reads links and binary files.
    EqualWithGrep,
    /// Gemini CLI breaks a promise of our tools there: a wrong edit, lost indentation, an ignored file, a way out of the workspace.
    Promised(&'static str),
    /// Our tools could follow Gemini CLI and do not.
    Chosen(&'static str),
}

#[derive(Debug, Default)]
struct Tally {
    cases: usize,
    equal: usize,
    equal_with_grep: usize,
    promised: BTreeMap<&'static str, Vec<String>>,
    chosen: BTreeMap<&'static str, Vec<String>>,
    unnamed: Vec<String>,
    wrong: Vec<String>,
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs the real Gemini CLI: run `cargo xtask test`"
)]
fn tools_answer_as_those_of_gemini_cli_do() {
    let temporary = std::env::temp_dir().canonicalize().unwrap();
    let repository = temporary.ancestors().find(|it| it.join(".git").exists());
    assert_eq!(
        repository, None,
        "a repository around the trees changes what both sides find: set TMPDIR"
    );
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
    let count = number("LAPIDARY_CASES").map_or(CASES, |count| usize::try_from(count).unwrap());
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
    println!("{}{}", report(&tallies), summary(&tallies));
    let names = deviation_names(&tallies);
    assert!(names.len() <= MOST_DEVIATIONS, "{names:#?}");
    let sum = |count: fn(&Tally) -> usize| tallies.values().map(count).sum::<usize>();
    assert_eq!(sum(|tally| tally.wrong.len()), 0, "edits are wrong");
    let unnamed = sum(|tally| tally.unnamed.len());
    assert!(
        unnamed * 200 <= count,
        "{unnamed} of {count} differ without a name"
    );
    let settled = sum(|tally| tally.all_equal() + told_count(&tally.promised));
    let cases = sum(|tally| tally.cases);
    assert!(
        settled * 100 >= cases * 99,
        "{settled} of {cases} are equal, or Gemini CLI breaks a promise of our tools there"
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs the real Gemini CLI: run `cargo xtask test`"
)]
fn a_short_name_is_the_model_that_gemini_cli_takes_with_an_api_key() {
    let names = [
        "auto",
        "auto-gemini-2.5",
        "auto-gemini-3",
        "pro",
        " flash ",
        "flash-lite",
        "gemini-3-pro-preview",
        "gemini-3-flash",
        "gemini-3.5-flash",
        "gemini-3.1-flash-lite",
        "gemini-3.1-pro-preview",
        "gemini-3-flash-preview",
        "gemini-2.5-pro",
        "gemini-2.5-flash",
        "gemini-2.5-flash-lite",
        "my-model",
    ];
    let theirs = Oracle::start().ask_line(&json!({ "models": names }));
    let ours = names.map(lapidary_native::model::concrete_model);
    assert_eq!(theirs["models"], json!(ours));
}

fn compare(oracle: &mut Oracle, tree: &Tree, case: &Case, tally: &mut Tally) {
    let workspace = &tree.workspace;
    let before = tree.bytes(case);
    let theirs = oracle.ask(case, workspace);
    let their_bytes = tree.bytes(case);
    tree.restore(case, before.as_deref());
    let ours = tree.call(case);
    let our_bytes = tree.bytes(case);
    tree.restore(case, before.as_deref());
    tally.cases += 1;
    let ours = normal(workspace, case, ours);
    let compared = Compared {
        case,
        tree,
        ours: &ours,
        theirs: &theirs,
        before: before.as_deref(),
        our_bytes: our_bytes.as_deref(),
        their_bytes: their_bytes.as_deref(),
    };
    if deviations::is_wrong(&compared) {
        tally.wrong.push(compared.told());
    }
    let verdict = if compared.is_equal() {
        Some(Verdict::Equal)
    } else {
        deviations::judge(&compared, oracle)
    };
    match verdict {
        Some(Verdict::Equal) => tally.equal += 1,
        Some(Verdict::EqualWithGrep) => tally.equal_with_grep += 1,
        Some(Verdict::Promised(name)) => {
            tally
                .promised
                .entry(name)
                .or_default()
                .push(compared.told());
        }
        Some(Verdict::Chosen(name)) => tally.chosen.entry(name).or_default().push(compared.told()),
        None => tally.unnamed.push(compared.told()),
    }
}

impl Tally {
    fn all_equal(&self) -> usize {
        self.equal + self.equal_with_grep
    }

    fn named(&self) -> impl Iterator<Item = (&'static str, &Vec<String>)> {
        let all = self.promised.iter().chain(&self.chosen);
        all.map(|(name, told)| (*name, told))
    }
}

fn told_count(named: &BTreeMap<&'static str, Vec<String>>) -> usize {
    named.values().map(Vec::len).sum()
}

/// One case, and the answers and files of both sides.
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

fn deviation_names(tallies: &BTreeMap<&'static str, Tally>) -> BTreeSet<&'static str> {
    let tallies = tallies.values();
    tallies
        .flat_map(|tally| tally.named().map(|(name, _)| name))
        .collect()
}

/// The figures of all tools.
fn summary(tallies: &BTreeMap<&'static str, Tally>) -> String {
    let sum = |count: fn(&Tally) -> usize| tallies.values().map(count).sum::<usize>();
    let cases = sum(|it| it.cases);
    let wrong = sum(|it| it.wrong.len());
    let names = deviation_names(tallies).len();
    let mut summary = format!("all tools: {cases} cases, {wrong} wrong edits, {names} names\n");
    let shares = [
        ("equal", sum(|it| it.equal)),
        ("as Gemini CLI with grep", sum(|it| it.equal_with_grep)),
        (
            "Gemini CLI breaks a promise of ours",
            sum(|it| told_count(&it.promised)),
        ),
        ("our choice", sum(|it| told_count(&it.chosen))),
        ("without a name", sum(|it| it.unnamed.len())),
    ];
    for (words, count) in shares {
        let _ = writeln!(summary, "  {count:>5} {} {words}", share(count, cases));
    }
    summary + &name_table(tallies, cases)
}

/// Each deviation with its count, as a table for `docs/agents.md`.
fn name_table(tallies: &BTreeMap<&'static str, Tally>, cases: usize) -> String {
    let mut rows = Vec::new();
    for (tool, tally) in tallies {
        let kinds = [("promise", &tally.promised), ("choice", &tally.chosen)];
        for (kind, named) in kinds {
            rows.extend(
                named
                    .iter()
                    .map(|(name, told)| (told.len(), *tool, kind, *name)),
            );
        }
    }
    rows.sort_unstable();
    rows.reverse();
    let mut table = "| tool | | deviation | cases | |\n|---|---|---|---:|---:|\n".to_owned();
    for (count, tool, kind, name) in rows {
        let share = share(count, cases);
        let _ = writeln!(table, "| `{tool}` | {kind} | {name} | {count} | {share} |");
    }
    table
}

/// A share in percent, with two digits.
fn share(count: usize, of: usize) -> String {
    let hundredths = count * 10_000 / of.max(1);
    format!("{:>3}.{:02} %", hundredths / 100, hundredths % 100)
}

/// The table of a run.
fn report(tallies: &BTreeMap<&'static str, Tally>) -> String {
    let mut report = String::new();
    let is_shown = std::env::var_os("LAPIDARY_NAMED").is_some();
    for (tool, tally) in tallies {
        let (cases, equal, unnamed) = (tally.cases, tally.all_equal(), tally.unnamed.len());
        let _ = writeln!(
            report,
            "{tool}: {cases} cases, {equal} equal, {unnamed} without a name"
        );
        for (name, told) in tally.named() {
            let _ = writeln!(report, "  {} times: {name}", told.len());
            for told in told.iter().filter(|_| is_shown) {
                let _ = writeln!(report, "{told}");
            }
        }
        for told in tally.unnamed.iter().take(8).chain(&tally.wrong) {
            let _ = writeln!(report, "{told}");
        }
    }
    report
}
