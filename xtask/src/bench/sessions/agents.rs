//! Sessions of Claude Code, Codex CLI, Qwen Code and opencode: listed, searched, indexed and counted, beside agentsview, ripgrep
//! and ccusage. `peers/bench/agent_sessions.py` writes them.
//!
//! ccusage and we count the same tokens, but for Qwen Code: its `promptTokenCount` includes the tokens that were read from the cache,
//! and its `candidatesTokenCount` the thoughts; ccusage adds both to them once more. In this corpus that is 26 tokens for each answer.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use ruzstd::encoding::{CompressionLevel, compress};

use super::agentsview::Agentsview;
use super::contest::{SessionsContest, SessionsContestant};
use super::peers::PeerPrograms;
use super::table::CommandLimits;
use super::{
    FLOOR, INDEX, LIST, LIST_INDEXED, SEARCH, SEARCH_INDEXED, control_contestant, cpu_limit, floor,
    times_limit, with_previous_index,
};
use crate::peers;
use crate::workspace::{Workspace, run as run_shown};

const STATS: &str = "`sessions stats --all`";
const CCUSAGE: &str = "`ccusage daily --offline` 20.0.24";
const AGENTSVIEW: &str = "`agentsview sync` 0.46.1, once";
const SHOW: &str = "`sessions show latest --all`, as events";
const RIPGREP: &str = "`rg --count`, ripgrep 15.0.0";

/// The word that every 501st session has.
const NEEDLE: &str = "quellenbach";

/// Words that agentsview and the index are asked for: the same, and some that the corpus has in few, in many and in all sessions.
const WORDS: [&str; 6] = [
    NEEDLE,
    "renloper",
    "lerrennesa",
    "wogase",
    "kimstbo",
    "kerben",
];

/// A home with sessions.
#[derive(Debug, Clone, Copy)]
struct AgentCorpus {
    name: &'static str,
    sessions: usize,
    bytes_each: usize,
    /// More arguments of the program that writes it.
    more: &'static [&'static str],
}

/// Many sessions of 20 KB.
const LISTED: AgentCorpus = AgentCorpus {
    name: "agents-listed",
    sessions: 5_000,
    bytes_each: 20_000,
    more: &[],
};
/// 1 GB of sessions. opencode's database is larger than the texts in it.
const SEARCHED: AgentCorpus = AgentCorpus {
    name: "agents-searched",
    sessions: 4_800,
    bytes_each: 180_000,
    more: &[],
};
/// A rollout of 1 GB.
const HUGE: AgentCorpus = AgentCorpus {
    name: "agents-huge",
    sessions: 1,
    bytes_each: 1_000_000_000,
    more: &["--one", "codex"],
};

/// The home with the same rollout, compressed.
const PACKED: &str = "agents-packed";

/// Where the bench reads and writes.
pub(super) struct AgentBench<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) peers: &'a PeerPrograms,
    pub(super) corpora: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) lapidary: &'a Path,
    pub(super) rounds: u32,
}

impl AgentBench<'_> {
    /// Listing and indexing many sessions. agentsview takes a minute for these, and too long for 1 GB.
    pub(super) fn list_contest(&self) -> Result<SessionsContest> {
        let home = self.home_of(LISTED)?;
        let over = "5,000 of 20 KB, of four agents".to_owned();
        let mut contest = SessionsContest::new(over);
        let limits = |ms| CommandLimits {
            peak: Some(40_000_000),
            ..cpu_limit(ms)
        };
        let mut plain = self.contestant(LIST, &["list", "--all", "--no-index"], &home, limits(200));
        plain.expected = Some((0..LISTED.sessions).map(session_id).collect());
        contest.add_contestant(plain.clone());
        contest.add_contestant(control_contestant(plain));
        contest.add_contestant(self.index_contestant(&home));
        let mut indexed = self.contestant(LIST_INDEXED, &["list", "--all"], &home, limits(60));
        indexed.expected = Some((0..LISTED.sessions).map(session_id).collect());
        contest.add_contestant(with_previous_index(indexed));
        contest.add_contestant(reading_contestant(&home)?);
        self.add_agentsview(&mut contest, &home)?;
        contest.hold_rounds(3 * self.rounds);
        contest.require_faster(INDEX, AGENTSVIEW, 8.0);
        Ok(contest)
    }

    /// Searching, indexing and counting 1 GB.
    pub(super) fn search_contest(&self) -> Result<SessionsContest> {
        let home = self.home_of(SEARCHED)?;
        let size = floor::size_of(&home)? / 1_000_000;
        let mut contest = SessionsContest::new(format!("{size} MB of four agents"));
        let words = ["search", NEEDLE, "--all", "--limit", "1000"];
        let plain = [&words[..], &["--no-index"]].concat();
        let mut plain = self.contestant(SEARCH, &plain, &home, times_limit(2.0));
        plain.expected = Some(sessions_with_needle());
        contest.add_contestant(plain.clone());
        contest.add_contestant(control_contestant(plain));
        contest.add_contestant(self.index_contestant(&home));
        let mut indexed = self.contestant(SEARCH_INDEXED, &words, &home, cpu_limit(40));
        indexed.expected = Some(sessions_with_needle());
        contest.add_contestant(with_previous_index(indexed));
        contest.add_contestant(reading_contestant(&home)?);
        self.peers
            .add_ripgrep_in(&mut contest, RIPGREP, NEEDLE, &home);
        let limits = CommandLimits::default();
        contest.add_contestant(self.contestant(STATS, &["stats", "--all"], &home, limits));
        self.add_ccusage(&mut contest, &home);
        contest.hold_rounds(self.rounds);
        contest.require_faster(STATS, CCUSAGE, 2.0);
        Ok(contest)
    }

    /// Asks agentsview and the index of the list contest for the same words. Each session that agentsview finds has to be among
    /// ours; agentsview itself does not keep every result of a tool.
    pub(super) fn missed_answers(&self) -> Result<Vec<String>> {
        let Ok(program) = self.peers.agentsview() else {
            return Ok(Vec::new()); // the table says why
        };
        let agentsview = Agentsview::in_home(program, self.agentsview_home());
        let theirs = agentsview.find_words(&WORDS)?;
        let home = self.home_of(LISTED)?;
        let mut missed = Vec::new();
        println!(
            "\n| word | sessions by the index | by agentsview | by both |\n|---|---:|---:|---:|"
        );
        for (word, theirs) in WORDS.iter().zip(theirs) {
            let words = ["search", word, "--all", "--limit", "10000"];
            let asked = self.contestant(SEARCH_INDEXED, &words, &home, CommandLimits::default());
            let ours = asked.named_sessions()?;
            let both = ours.intersection(&theirs).count();
            println!("| {word} | {} | {} | {both} |", ours.len(), theirs.len());
            if both < theirs.len() {
                missed.push(format!("agentsview finds more sessions with `{word}`"));
            }
        }
        Ok(missed)
    }

    /// A rollout that does not fit into memory.
    pub(super) fn huge_contest(&self) -> Result<SessionsContest> {
        let home = self.home_of(HUGE)?;
        self.rollout_contest("one rollout of 1 GB", &home)
    }

    /// The same as `.jsonl.zst`.
    pub(super) fn packed_contest(&self) -> Result<SessionsContest> {
        let home = self.packed_home()?;
        let size = floor::size_of(&home)? / 1_000_000;
        self.rollout_contest(&format!("the same, compressed to {size} MB"), &home)
    }

    fn rollout_contest(&self, over: &str, home: &Path) -> Result<SessionsContest> {
        let mut contest = SessionsContest::new(over.to_owned());
        let limits = CommandLimits {
            peak: Some(60_000_000),
            ..CommandLimits::default()
        };
        let list = ["list", "--all", "--no-index"];
        let mut list = self.contestant(LIST, &list, home, limits);
        list.expected = Some([session_id(1)].into());
        contest.add_contestant(list);
        let show = ["show", "latest", "--agent", "codex", "--all"];
        contest.add_contestant(self.contestant(SHOW, &show, home, limits));
        contest.add_contestant(reading_contestant(home)?);
        contest.hold_rounds(1); // memory does not vary
        Ok(contest)
    }

    /// The home of a corpus, written unless it is there. Its content is the same every time.
    fn home_of(&self, corpus: AgentCorpus) -> Result<PathBuf> {
        let home = self.corpora.join(corpus.name);
        let stamp = home.join(".written");
        if !stamp.is_file() {
            eprintln!("bench: writing {}", corpus.name);
            let _ = fs::remove_dir_all(&home); // of an interrupted bench
            fs::create_dir_all(&home)?;
            let mut write = Command::new("python3");
            write.arg(self.workspace.root.join("peers/bench/agent_sessions.py"));
            write.arg(&home);
            write.args([corpus.sessions, corpus.bytes_each].map(|it| it.to_string()));
            run_shown(write.args(corpus.more))?;
            fs::write(stamp, "")?;
        }
        floor::read_all(&home)?; // from now on it is in memory
        Ok(home)
    }

    /// The home of the compressed rollout, written unless it is there.
    fn packed_home(&self) -> Result<PathBuf> {
        let plain = self.home_of(HUGE)?;
        let home = self.corpora.join(PACKED);
        let stamp = home.join(".written");
        if !stamp.is_file() {
            eprintln!("bench: writing {PACKED}");
            let _ = fs::remove_dir_all(&home); // of an interrupted bench
            let day = Path::new(".codex/sessions/2026/01/02");
            fs::create_dir_all(home.join(day))?;
            for entry in fs::read_dir(plain.join(day))? {
                let mut name = entry?.file_name();
                let rollout = File::open(plain.join(day).join(&name))?;
                name.push(".zst");
                let packed = File::create(home.join(day).join(name))?;
                compress(rollout, packed, CompressionLevel::Fastest);
            }
            fs::write(stamp, "")?;
        }
        floor::read_all(&home)?; // from now on it is in memory
        Ok(home)
    }

    fn contestant(
        &self,
        what: &str,
        words: &[&str],
        home: &Path,
        limits: CommandLimits,
    ) -> SessionsContestant {
        let mut command: Vec<OsString> = vec![self.lapidary.into(), "sessions".into()];
        command.extend(words.iter().map(OsString::from));
        if words[0] != "show" {
            command.extend(["--format", "json"].map(OsString::from));
        }
        SessionsContestant {
            what: what.to_owned(),
            command,
            environment: self.environment(home),
            limits,
            ..SessionsContestant::default()
        }
    }

    /// Makes the index once, from nothing.
    fn index_contestant(&self, home: &Path) -> SessionsContestant {
        let mut command: Vec<OsString> = vec![self.lapidary.into()];
        command.extend(["sessions", "index"].map(OsString::from));
        SessionsContestant {
            what: INDEX.to_owned(),
            command,
            environment: self.environment(home),
            fresh: Some(self.folder.join("cache")),
            most_rounds: Some(1),
            ..SessionsContestant::default()
        }
    }

    fn environment(&self, home: &Path) -> Vec<(&'static str, OsString)> {
        let place = |name: &str| self.folder.join(name).into();
        vec![
            ("HOME", home.into()),
            ("LAPIDARY_CACHE_DIR", place("cache")),
            ("LAPIDARY_STATE_DIR", place("state")),
        ]
    }

    fn add_agentsview(&self, contest: &mut SessionsContest, home: &Path) -> Result<()> {
        let program = match self.peers.agentsview() {
            Ok(program) => program,
            Err(why) => {
                contest.add_absent(AGENTSVIEW, why.to_owned());
                return Ok(());
            }
        };
        let own = self.agentsview_home();
        fs::create_dir_all(own.join(".local/share"))?;
        for place in [".claude", ".codex", ".qwen", ".local/share/opencode"] {
            let _ = std::os::unix::fs::symlink(home.join(place), own.join(place)); // it may be there
        }
        contest.add_contestant(SessionsContestant {
            what: AGENTSVIEW.to_owned(),
            command: vec![program.into(), "sync".into()],
            environment: vec![
                ("HOME", own.into()),
                ("AGENTSVIEW_NO_DAEMON", "1".into()),
                ("AGENTSVIEW_TELEMETRY_ENABLED", "0".into()),
                ("DO_NOT_TRACK", "1".into()),
            ],
            most_rounds: Some(1),
            ..SessionsContestant::default()
        });
        Ok(())
    }

    /// A home of its own, in which its database may be.
    fn agentsview_home(&self) -> PathBuf {
        self.folder.join("agentsview-agents")
    }

    fn add_ccusage(&self, contest: &mut SessionsContest, home: &Path) {
        match self.ccusage() {
            Err(error) => contest.add_absent(CCUSAGE, format!("{error:#}")),
            Ok(program) => {
                let mut command: Vec<OsString> = vec![program.into()];
                let words = ["daily", "--offline", "--json", "--timezone", "UTC"];
                command.extend(words.map(OsString::from));
                contest.add_contestant(SessionsContestant {
                    what: CCUSAGE.to_owned(),
                    command,
                    environment: self.environment(home),
                    ..SessionsContestant::default()
                });
            }
        }
    }

    /// The program as an executable: npm does not make it one.
    fn ccusage(&self) -> Result<PathBuf> {
        let installed = peers::install_usage(self.workspace)?;
        let installed = installed.join("node_modules/@ccusage/ccusage-linux-x64/bin/ccusage");
        let program = self.folder.join("ccusage");
        fs::copy(&installed, &program).context("cannot copy ccusage")?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        Ok(program)
    }
}

/// The id of a session, as `agent_sessions.py` gives it.
fn session_id(number: usize) -> String {
    if number % 4 == 3 {
        return format!("ses_{number:022x}");
    }
    format!("{number:08x}-0000-4000-8000-{number:012x}")
}

fn sessions_with_needle() -> BTreeSet<String> {
    let numbers = (0..SEARCHED.sessions).filter(|number| number % 501 == 7);
    numbers.map(session_id).collect()
}

fn reading_contestant(home: &Path) -> Result<SessionsContestant> {
    let program = std::env::current_exe()?;
    Ok(SessionsContestant {
        what: FLOOR.to_owned(),
        command: vec![program.into(), "read-floor".into(), home.into()],
        ..SessionsContestant::default()
    })
}
