//! Homes of Gemini CLI full of sessions, made up but the same every time: for benches, and for tests that want many.
//!
//! Records, their order and their proportions are those of real files; the words are not. One session in [`NEEDLE_EVERY`] has
//! the word [`NEEDLE`] in it, once, which no other text has.

mod pen;
mod session;
mod words;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::mutate::SeededRng;
use session::SessionClock;
use words::Vocabulary;

/// The word that only few sessions have.
pub const NEEDLE: &str = "needleword";
/// One session in this many has it.
pub const NEEDLE_EVERY: u32 = 20;
/// Changes whenever other files are written for the same corpus, so that kept ones are not taken for them.
const VERSION: u32 = 1;
/// Written last: a folder that has it is complete.
const STAMP: &str = ".complete";

/// How a session is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFormat {
    /// A log of records, as 0.61.0 writes it. Projects have names and are registered.
    Jsonl,
    /// One indented document, as 0.24.0 writes it. Projects are folders named by a hash.
    Json,
}

/// How many different words the texts have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordVariety {
    /// Some ten thousand, most of them in a few dozen phrases.
    Usual,
    /// Some hundred thousand, which make up more than half of every text: the most that an index has to keep.
    Varied,
}

/// A home of many sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCorpus {
    /// Other seeds, other texts and ids.
    pub seed: u64,
    /// How many sessions there are in all.
    pub sessions: u32,
    /// The size of a session's file, from half to three halves of this; of the first, and on average, this.
    pub bytes_each: usize,
    /// How they are stored.
    pub format: SessionFormat,
    /// How many projects they are spread over, in turns.
    pub projects: u32,
    /// How many different words they have.
    pub variety: WordVariety,
}

/// A session of a corpus, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusSession {
    /// Its full id.
    pub id: String,
    /// The project it belongs to.
    pub project: String,
    /// Its file, below the home.
    pub file: PathBuf,
    /// Whether [`NEEDLE`] is in it.
    pub has_needle: bool,
    /// Whether it has a `summary`.
    pub has_summary: bool,
}

/// The counts of a session file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCounts {
    /// Messages of its final state.
    pub messages: u64,
    /// Records that later ones of the same id replaced.
    pub superseded: u64,
    /// Calls of tools.
    pub calls: u64,
}

impl SessionCorpus {
    /// Its sessions, oldest first.
    pub fn list(&self) -> impl Iterator<Item = CorpusSession> + '_ {
        (0..self.sessions).map(|number| self.session(number))
    }

    /// Writes all of it: `home` will have `.gemini` in it. Returns what each file says, in the order of [`SessionCorpus::list`].
    pub fn write(&self, home: &Path) -> io::Result<Vec<SessionCounts>> {
        for number in 0..self.projects.min(self.sessions) {
            self.write_project(home, number)?;
        }
        self.write_registry(home)?;
        let vocabulary = Vocabulary::new(self.variety);
        let mut file = String::new();
        let mut all = Vec::new();
        for number in 0..self.sessions {
            let session = self.session(number);
            file.clear();
            let plan = session::SessionPlan {
                session: &session,
                project_hash: &hash(&session.project),
                format: self.format,
                bytes: self.bytes_of(number),
                clock: SessionClock::from_number(number),
            };
            all.push(plan.write(&vocabulary, self.rng(number), &mut file));
            fs::write(home.join(&session.file), &file)?;
        }
        Ok(all)
    }

    /// The home of this corpus in a folder of corpora, written unless it is there already.
    pub fn kept_in(&self, folder: &Path) -> io::Result<PathBuf> {
        let Self {
            seed,
            sessions,
            bytes_each,
            format,
            projects,
            variety,
        } = self;
        let variety = match variety {
            WordVariety::Usual => "",
            WordVariety::Varied => "-varied",
        };
        let name =
            format!("{format:?}-{sessions}x{bytes_each}-{projects}-{seed}{variety}-v{VERSION}");
        let home = folder.join(name.to_lowercase());
        if !home.join(STAMP).exists() {
            let _ = fs::remove_dir_all(&home); // the rest of an interrupted run
            self.write(&home)?;
            fs::write(home.join(STAMP), "")?;
        }
        Ok(home)
    }

    fn session(&self, number: u32) -> CorpusSession {
        let id = session::random_uuid(&mut self.rng(number));
        let start = SessionClock::from_number(number).minute();
        let ending = match self.format {
            SessionFormat::Jsonl => "jsonl",
            SessionFormat::Json => "json",
        };
        let project = number % self.projects.max(1);
        let name = format!("session-{start}-{}.{ending}", &id[..8]);
        CorpusSession {
            file: self.folder("tmp", project).join("chats").join(name),
            project: project_path(project),
            has_needle: number % NEEDLE_EVERY == 7 % NEEDLE_EVERY,
            has_summary: number % 3 == 1,
            id,
        }
    }

    /// The numbers of a session: its id comes first, so that it can be told without the text.
    fn rng(&self, number: u32) -> SeededRng {
        SeededRng::new(SeededRng::new(self.seed ^ (u64::from(number) << 20)).next_u64())
    }

    /// Sizes go around: 100, 137, 73, 110, … percent.
    fn bytes_of(&self, number: u32) -> usize {
        let percent = (u64::from(number) * 37 + 50) % 101 + 50;
        self.bytes_each / 100 * usize::try_from(percent).unwrap_or(100)
    }

    /// Where a project's things are, below the home.
    fn folder(&self, base: &str, project: u32) -> PathBuf {
        let name = match self.format {
            SessionFormat::Jsonl => project_name(project),
            SessionFormat::Json => hash(&project_path(project)),
        };
        Path::new(".gemini").join(base).join(name)
    }

    fn write_project(&self, home: &Path, project: u32) -> io::Result<()> {
        fs::create_dir_all(home.join(self.folder("tmp", project)).join("chats"))?;
        if self.format == SessionFormat::Json {
            return Ok(());
        }
        for base in ["tmp", "history"] {
            let folder = home.join(self.folder(base, project));
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(".project_root"), project_path(project))?;
        }
        Ok(())
    }

    fn write_registry(&self, home: &Path) -> io::Result<()> {
        if self.format == SessionFormat::Json {
            return Ok(()); // 0.24.0 has none
        }
        let projects = (0..self.projects)
            .map(|project| (project_path(project), project_name(project).into()))
            .collect::<serde_json::Map<_, _>>();
        let registry = format!("{:#}\n", json!({ "projects": projects }));
        fs::write(home.join(".gemini/projects.json"), registry)
    }
}

fn project_name(project: u32) -> String {
    format!("project-{project}")
}

fn project_path(project: u32) -> String {
    format!("/home/user/work/project-{project}")
}

/// A project's hash as the CLI makes it, of its path.
fn hash(project: &str) -> String {
    let mut hash = String::new();
    for byte in Sha256::digest(project) {
        let _ = write!(hash, "{byte:02x}"); // a string takes all
    }
    hash
}

#[cfg(test)]
mod tests;
