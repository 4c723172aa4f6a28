//! The cost of `lapidary sessions` over homes full of sessions, beside merely reading the files and beside other programs.
//!
//! The homes are made up, but the same every time, and kept under `target/bench-corpora`. Files are read once before the
//! measurement, so that they come from memory.

mod agents;
mod agentsview;
mod contest;
mod floor;
mod peers;
mod stage;
mod table;

pub(crate) use floor::read_floor;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use lapidary_testkit::sessions::{SessionCorpus, SessionFormat, WordVariety};

use super::table::in_megabytes;
use super::verdict::BenchVerdict;
use super::{NOISE, print_doubts};
use crate::workspace::Workspace;
use agents::AgentBench;
use contest::{SessionsContest, SessionsContestant};
use peers::PeerPrograms;
use stage::SessionsStage;
use table::{CommandLimits, SessionsRow, SessionsTable};

const LIST: &str = "`sessions list --all --no-index`";
const LIST_INDEXED: &str = "`sessions list --all`, with the index";
const LIST_TEXT_INDEXED: &str = "`sessions list --all --format text`, with the index";
const SEARCH: &str = "`sessions search --all --no-index`";
const SEARCH_INDEXED: &str = "`sessions search --all`, with the index";
const ABSENT_INDEXED: &str = "`sessions search --all` of a word that is nowhere, with the index";
const INDEX: &str = "`sessions index`, from nothing";
const SHOW: &str = "`sessions show PATH`";
const CONTROL: &str = "the same again (A/A control)";
const FLOOR: &str = "reading the files only (floor)";

/// Commands that take a tenth of a second are measured so many times as often: their least takes longer to settle.
const MORE: u32 = 3;

/// Commands that take seconds are measured in so many rounds.
const SELDOM: u32 = 3;

/// Many sessions that are small, all of one project, so that the CLI can list them too. None can be smaller than one turn,
/// which makes them 7 KB on average.
const SMALL: SessionCorpus = SessionCorpus {
    seed: 20_261_115,
    sessions: 5_000,
    bytes_each: 6_000,
    format: SessionFormat::Jsonl,
    projects: 1,
    variety: WordVariety::Usual,
};
/// Many that are not.
const LARGE: SessionCorpus = SessionCorpus {
    bytes_each: 260_000,
    projects: 20,
    ..SMALL
};
/// As many as a daily user of the CLI has.
const USUAL: SessionCorpus = SessionCorpus {
    sessions: 1_000,
    bytes_each: 103_000,
    ..LARGE
};
/// The same with as many words as an index can meet.
const VARIED: SessionCorpus = SessionCorpus {
    variety: WordVariety::Varied,
    ..USUAL
};
/// As many sessions as a user has after years.
const MANY: SessionCorpus = SessionCorpus {
    sessions: 50_000,
    projects: 20,
    ..SMALL
};
/// A single one that is huge.
const HUGE: SessionCorpus = SessionCorpus {
    sessions: 1,
    bytes_each: 200_000_000,
    ..SMALL
};

const LISTED: CommandLimits = CommandLimits {
    cpu: Some(Duration::from_millis(150)),
    times_reading: None,
    peak: Some(40_000_000),
};
const LISTED_INDEXED: CommandLimits = cpu_limit(100);
const MANY_LISTED: CommandLimits = cpu_limit(200);
const NOT_FOUND: CommandLimits = cpu_limit(100);
/// To read is to copy in the kernel, once. A search looks at each byte again, for the word in either case, for an escape of one
/// of its letters, for the key of the session's id and for characters that are no ASCII, a vector at a time; it took 2.3 to 2.7
/// times as long as reading. `ripgrep`, which looks for the word alone, takes 1.9 to 2.2 times as long.
const FOUND: CommandLimits = times_limit(2.0);
const FOUND_INDEXED: CommandLimits = cpu_limit(30);
const INDEXED: CommandLimits = CommandLimits {
    cpu: Some(Duration::from_secs(6)),
    times_reading: None,
    peak: Some(100_000_000),
};

const fn cpu_limit(ms: u64) -> CommandLimits {
    CommandLimits {
        cpu: Some(Duration::from_millis(ms)),
        times_reading: None,
        peak: None,
    }
}

const fn times_limit(times: f64) -> CommandLimits {
    CommandLimits {
        cpu: None,
        times_reading: Some(times),
        peak: None,
    }
}

/// The home of a daily user of the CLI, read once so that it comes from memory.
pub(super) fn usual_home(corpora: &Path) -> Result<PathBuf> {
    fs::create_dir_all(corpora)?;
    let home = USUAL.kept_in(corpora);
    let home = home.context("cannot write the usual sessions")?;
    floor::read_all(&home)?;
    Ok(home)
}

/// Measures, prints, and judges the result.
pub(super) fn report_sessions(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
    rounds: u32,
) -> Result<BenchVerdict> {
    let folder = folder.join("sessions");
    let _ = fs::remove_dir_all(&folder); // of an earlier bench
    fs::create_dir_all(&folder)?;
    let bench = SessionsBench {
        peers: PeerPrograms::find_programs(workspace),
        corpora: &workspace.target.join("bench-corpora"),
        folder: &folder,
        lapidary,
        rounds,
    };
    let mut verdict = BenchVerdict::default();
    // The most sessions first: an interrupted bench has printed them.
    verdict.add_verdict(judge_contest(&bench.many_contest()?));
    verdict.add_verdict(judge_contest(&bench.small_contest()?));
    verdict.add_verdict(judge_contest(&bench.search_contest()?));
    verdict.add_verdict(judge_contest(&bench.varied_contest()?));
    for (format, times) in [(SessionFormat::Jsonl, 3.0), (SessionFormat::Json, 6.0)] {
        verdict.add_verdict(judge_contest(&bench.large_contest(format, times)?));
    }
    for format in [SessionFormat::Jsonl, SessionFormat::Json] {
        verdict.add_verdict(judge_contest(&bench.huge_contest(format)?));
    }
    print_doubts(&verdict.doubts);
    Ok(verdict)
}

/// The same for sessions of other agents than Gemini CLI.
pub(super) fn report_agent_sessions(
    workspace: &Workspace,
    folder: &Path,
    lapidary: &Path,
    rounds: u32,
) -> Result<BenchVerdict> {
    let folder = folder.join("agent-sessions");
    let _ = fs::remove_dir_all(&folder); // of an earlier bench
    for name in ["cache", "state"] {
        fs::create_dir_all(folder.join(name))?;
    }
    let bench = AgentBench {
        workspace,
        peers: &PeerPrograms::find_programs(workspace),
        corpora: &workspace.target.join("bench-corpora"),
        folder: &folder,
        lapidary,
        rounds,
    };
    let mut verdict = BenchVerdict::default();
    verdict.add_verdict(judge_contest(&bench.list_contest()?));
    verdict.misses.extend(bench.missed_answers()?);
    verdict.add_verdict(judge_contest(&bench.search_contest()?));
    verdict.add_verdict(judge_contest(&bench.huge_contest()?));
    verdict.add_verdict(judge_contest(&bench.packed_contest()?));
    print_doubts(&verdict.doubts);
    Ok(verdict)
}

/// Prints a contest that is over, and judges it.
fn judge_contest(contest: &SessionsContest) -> BenchVerdict {
    let doubts = contest.measurement_doubts(NOISE);
    let rows = contest.table_rows();
    println!("\n{}", SessionsTable(&rows));
    let goals = rows.iter().flat_map(SessionsRow::missed_goals);
    let misses = goals.chain(contest.missed_comparisons()).collect();
    BenchVerdict { doubts, misses }
}

struct SessionsBench<'a> {
    peers: PeerPrograms,
    corpora: &'a Path,
    folder: &'a Path,
    lapidary: &'a Path,
    rounds: u32,
}

impl SessionsBench<'_> {
    fn set_up_stage(&self, name: &str, corpus: SessionCorpus) -> Result<SessionsStage> {
        fs::create_dir_all(self.corpora)?;
        eprintln!("bench: writing {name}, unless it is there");
        let home = corpus.kept_in(self.corpora);
        let home = home.with_context(|| format!("cannot write {name}"))?;
        floor::read_all(&home)?; // from now on it is in memory
        SessionsStage::set_up(self.lapidary, home, self.folder.join(name), corpus)
    }

    /// Many small sessions: beside the CLI's own listing.
    fn small_contest(&self) -> Result<SessionsContest> {
        let stage = self.set_up_stage("small", SMALL)?;
        let mut contest = SessionsContest::new(contest_title(
            "5,000 of 7 KB, one project",
            SMALL.format,
            &stage,
        )?);
        add_listing(&mut contest, &stage, LISTED)?;
        self.peers.add_cli(&mut contest, &SMALL, self.folder)?;
        contest.hold_rounds(MORE * self.rounds);
        Ok(contest)
    }

    fn large_contest(&self, format: SessionFormat, times: f64) -> Result<SessionsContest> {
        let corpus = SessionCorpus { format, ..LARGE };
        let stage = self.set_up_stage(&format!("large-{format:?}"), corpus)?;
        let mut contest =
            SessionsContest::new(contest_title("5,000 in 20 projects", format, &stage)?);
        add_listing(&mut contest, &stage, times_limit(times))?;
        contest.hold_rounds(self.rounds);
        Ok(contest)
    }

    /// A rare word: beside programs that search files, and programs that keep a database.
    fn search_contest(&self) -> Result<SessionsContest> {
        let stage = self.set_up_stage("usual", USUAL)?;
        let mut contest =
            SessionsContest::new(contest_title("1,000 in 20 projects", USUAL.format, &stage)?);
        let ours = stage.search_contestant(SEARCH, FOUND, &["--no-index"]);
        contest.add_contestant(ours.clone());
        contest.add_contestant(control_contestant(ours));
        contest.add_contestant(measured_seldom(stage.index_contestant(INDEX, INDEXED)));
        contest.add_contestant(with_previous_index(stage.search_contestant(
            SEARCH_INDEXED,
            FOUND_INDEXED,
            &[],
        )));
        contest.add_contestant(stage.floor_contestant()?);
        self.peers.add_ripgrep(&mut contest, &stage);
        let agentsview = self
            .peers
            .add_agentsview(&mut contest, &stage, self.folder)?;
        contest.hold_rounds(MORE * self.rounds);
        if let Some(agentsview) = agentsview {
            agentsview.add_search(&mut contest, MORE * self.rounds);
        }
        Ok(contest)
    }

    /// Texts of many words: the highest cost of an index.
    fn varied_contest(&self) -> Result<SessionsContest> {
        let stage = self.set_up_stage("varied", VARIED)?;
        let over = contest_title("1,000 in 20 projects, varied", VARIED.format, &stage)?;
        let mut contest = SessionsContest::new(over);
        contest.add_contestant(stage.search_contestant(SEARCH, FOUND, &["--no-index"]));
        contest.add_contestant(measured_seldom(stage.index_contestant(INDEX, INDEXED)));
        contest.add_contestant(with_previous_index(stage.search_contestant(
            SEARCH_INDEXED,
            FOUND_INDEXED,
            &[],
        )));
        contest.add_contestant(stage.floor_contestant()?);
        contest.hold_rounds(self.rounds);
        Ok(contest)
    }

    /// So many that looking at each file takes most of the time.
    fn many_contest(&self) -> Result<SessionsContest> {
        let stage = self.set_up_stage("many", MANY)?;
        let mut contest = SessionsContest::new(contest_title(
            "50,000 of 7 KB in 20 projects",
            MANY.format,
            &stage,
        )?);
        contest.add_contestant(measured_seldom(stage.list_contestant(
            LIST,
            CommandLimits::default(),
            &["--no-index"],
        )));
        contest.add_contestant(SessionsContestant {
            most_rounds: Some(1),
            ..stage.index_contestant(INDEX, CommandLimits::default())
        });
        contest.add_contestant(with_previous_index(stage.list_contestant(
            LIST_INDEXED,
            MANY_LISTED,
            &[],
        )));
        contest.add_contestant(with_previous_index(
            stage.list_text(LIST_TEXT_INDEXED, MANY_LISTED),
        ));
        contest.add_contestant(with_previous_index(
            stage.search_in_vain(ABSENT_INDEXED, NOT_FOUND),
        ));
        contest.add_contestant(stage.floor_contestant()?);
        contest.hold_rounds(self.rounds);
        Ok(contest)
    }

    fn huge_contest(&self, format: SessionFormat) -> Result<SessionsContest> {
        let corpus = SessionCorpus { format, ..HUGE };
        let stage = self.set_up_stage(&format!("huge-{format:?}"), corpus)?;
        let size = floor::size_of(&stage.home)?;
        let limits = CommandLimits {
            peak: Some(size * 3 / 2),
            ..CommandLimits::default()
        };
        let mut contest = SessionsContest::new(contest_title("one session", format, &stage)?);
        contest.add_contestant(stage.show_contestant(SHOW, limits)?);
        contest.add_contestant(stage.floor_contestant()?);
        contest.hold_rounds(1); // memory does not vary
        Ok(contest)
    }
}

/// Programs that list: without and with an index, which is made once and not measured here.
fn add_listing(
    contest: &mut SessionsContest,
    stage: &SessionsStage,
    limits: CommandLimits,
) -> Result<()> {
    let ours = stage.list_contestant(LIST, limits, &["--no-index"]);
    contest.add_contestant(ours.clone());
    contest.add_contestant(control_contestant(ours));
    contest.add_contestant(SessionsContestant {
        most_rounds: Some(1),
        ..stage.index_contestant(INDEX, CommandLimits::default())
    });
    contest.add_contestant(with_previous_index(stage.list_contestant(
        LIST_INDEXED,
        LISTED_INDEXED,
        &[],
    )));
    contest.add_contestant(stage.floor_contestant()?);
    Ok(())
}

/// A contestant that uses the index that was made just before.
fn with_previous_index(contestant: SessionsContestant) -> SessionsContestant {
    SessionsContestant {
        needs_previous: true,
        ..contestant
    }
}

/// A contestant that takes seconds: its least is settled after a few rounds.
fn measured_seldom(contestant: SessionsContestant) -> SessionsContestant {
    SessionsContestant {
        most_rounds: Some(SELDOM),
        ..contestant
    }
}

/// The same command under another name.
fn control_contestant(ours: SessionsContestant) -> SessionsContestant {
    SessionsContestant {
        what: CONTROL.to_owned(),
        limits: CommandLimits::default(),
        ..ours
    }
}

/// The measured corpus, in a few words and with its true size.
fn contest_title(what: &str, format: SessionFormat, stage: &SessionsStage) -> Result<String> {
    let format = match format {
        SessionFormat::Jsonl => "JSONL",
        SessionFormat::Json => "JSON",
    };
    let size = in_megabytes(floor::size_of(&stage.home)?);
    Ok(format!("{what}, {format}, {size:.0} MB"))
}
