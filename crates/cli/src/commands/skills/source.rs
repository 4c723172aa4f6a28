//! The sources of skills: a local directory, or a temporary one into which they are fetched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow};
use lapidary::engine::git::{self, CloneError, CloneLimits, CloneRequest};
use lapidary::engine::process::Supervisor;
use lapidary::gemini::owned_dir::{self, OwnedDir};
use lapidary::gemini::skills::{ArchiveError, FILE, normalized, unpack};

use super::common::SkillsContext;
use super::stop::{StopListener, cancelled_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;

/// The beginning of the names of temporary directories for fetched skills.
const FETCHED: &str = "lapidary-skill-";
/// A directory younger than this may belong to a process that has not locked it yet.
const YOUNG: Duration = Duration::from_mins(1);

/// The directory that holds the skills, on this machine.
pub(super) enum SkillSource {
    Local(PathBuf),
    Fetched(FetchedDir),
}

/// A temporary directory with an unpacked or cloned source. It holds our mark, and the source in a directory of its own.
pub(super) struct FetchedDir {
    /// Locked as long as we live, so that others can tell.
    directory: OwnedDir,
    source: PathBuf,
}

/// The source to fetch, and its time limit.
pub(super) struct FetchRequest<'a> {
    /// The source as the user wrote it.
    pub(super) source: &'a str,
    /// How long cloning may take.
    pub(super) deadline: Duration,
    pub(super) stop: &'a StopListener,
}

impl SkillSource {
    pub(super) fn fetch_source(
        request: &FetchRequest<'_>,
        here: &SkillsContext,
    ) -> Result<Self, Failure> {
        let source = request.source;
        let shown = git::shown(source);
        let path = normalized(&here.place.environment.dir.join(source));
        // `owner` that is a directory here makes it a path that was mistyped.
        let is_local = path.symlink_metadata().is_ok() || path.parent().is_some_and(Path::is_dir);
        if let Some(url) = github_url(source).filter(|_| !is_local) {
            let fetched = clone_source(request, &url, here);
            let hint = format!("there is no directory `{source}` here, so it means {url}");
            return fetched.map_err(|failure| failure.with_hint(hint));
        }
        if git::is_url(source) {
            return clone_source(request, source, here);
        }
        if let Err(error) = path.metadata() {
            return Err(not_there(source, &error));
        }
        if source.to_lowercase().ends_with(".skill") {
            let fetched = FetchedDir::make_dir(&here.place.invocation.temp_dir())?;
            here.place
                .invocation
                .print_message(&format!("Extracting skill from {shown}..."));
            let is_stopped = || request.stop.is_wanted();
            unpack(&path, &fetched.source, &is_stopped).map_err(not_unpacked)?;
            return Ok(Self::Fetched(fetched));
        }
        if !path.is_dir() {
            return Err(not_a_directory(source, FetchVerb::Install));
        }
        Ok(Self::Local(path))
    }

    pub(super) fn root_dir(&self) -> &Path {
        match self {
            Self::Local(path) => path,
            Self::Fetched(fetched) => &fetched.source,
        }
    }

    pub(super) fn is_foreign(&self) -> bool {
        matches!(self, Self::Fetched(_))
    }
}

fn clone_source(
    request: &FetchRequest<'_>,
    url: &str,
    here: &SkillsContext,
) -> Result<SkillSource, Failure> {
    let fetched = FetchedDir::make_dir(&here.place.invocation.temp_dir())?;
    here.place
        .invocation
        .print_message(&format!("Cloning skill from {}...", git::shown(url)));
    clone(request, url, here, &fetched.source)?;
    Ok(SkillSource::Fetched(fetched))
}

/// The repository that `owner/repo` means. A directory of that name goes before it.
fn github_url(source: &str) -> Option<String> {
    let (owner, name) = source.split_once('/')?;
    let is_owner = owner
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || it == b'-');
    let is_name = name
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it));
    let ending = Path::new(name).extension().unwrap_or_default();
    let has_dots = name.starts_with('.') || ending.eq_ignore_ascii_case("skill");
    let is_repository = is_owner
        && is_name
        && !owner.is_empty()
        && !owner.starts_with('-')
        && !name.is_empty()
        && !has_dots;
    let name = name.strip_suffix(".git").unwrap_or(name);
    is_repository.then(|| format!("https://github.com/{owner}/{name}.git"))
}

/// A source that looks like an address is not reported as a mistyped path.
fn not_there(source: &str, error: &io::Error) -> Failure {
    let shown = git::shown(source);
    let scheme = source.split_once("://").map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &&str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if let Some(scheme) = scheme.filter(is_scheme) {
        let failure = anyhow!("`{shown}` cannot be cloned: `{scheme}://` is not supported");
        let hint = "addresses begin with https://, http://, ssh://, git@ or file://";
        return Failure::bad_input(failure).with_hint(hint);
    }
    let hint =
        "give a directory, OWNER/REPO on GitHub, the address of a git repository, or a .skill file";
    Failure::bad_input(anyhow!("cannot read `{shown}`: {error}")).with_hint(hint)
}

/// The command that takes a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FetchVerb {
    Install,
    Link,
}

/// The source is a file: the hint names the directory or command to use instead, by the file's name. The file is not opened,
/// since it may be a pipe.
pub(super) fn not_a_directory(source: &str, verb: FetchVerb) -> Failure {
    let path = Path::new(source);
    let name = path.file_name().unwrap_or_default();
    let is_one_of = |endings: &[&str]| {
        let ending = path.extension().unwrap_or_default();
        endings.iter().any(|one| ending.eq_ignore_ascii_case(one))
    };
    let hint = if name.eq_ignore_ascii_case(FILE) {
        let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        format!("give its directory, `{}`", directory.display())
    } else if verb == FetchVerb::Link && is_one_of(&["skill"]) {
        "`link` takes a directory; `lapidary skills install` unpacks it".to_owned()
    } else if is_one_of(&["zip"]) {
        let packed = path.with_extension("skill");
        let packed = packed.display();
        format!("an archive must be called .skill: rename it `{packed}` and install that")
    } else if verb == FetchVerb::Link {
        "`link` takes a directory".to_owned()
    } else {
        "give a directory, the address of a git repository, or a .skill file".to_owned()
    };
    let shown = git::shown(source);
    Failure::bad_input(anyhow!("`{shown}` is a file")).with_hint(hint)
}

fn not_unpacked(error: ArchiveError) -> Failure {
    match error {
        ArchiveError::Stopped => cancelled_failure(),
        ArchiveError::Unwritable { .. } => Failure::internal(error),
        error => Failure::bad_input(error),
    }
}

impl FetchedDir {
    fn make_dir(beside: &Path) -> Result<Self, Failure> {
        clear_leftovers(beside);
        let fetched = Self::make_in(beside).context("cannot make a temporary directory");
        fetched.map_err(Failure::internal)
    }

    fn make_in(beside: &Path) -> io::Result<Self> {
        let directory = OwnedDir::make(beside, FETCHED)?;
        directory.lock();
        let source = directory.path().join("source");
        // From here on `Drop` removes the directory, also after an error.
        let fetched = Self { directory, source };
        fetched.directory.mark()?;
        fs::create_dir(&fetched.source)?;
        Ok(fetched)
    }
}

impl Drop for FetchedDir {
    fn drop(&mut self) {
        let _ = self.directory.clear();
    }
}

/// Removes the directories of killed processes: they have our mark or are empty, and no process holds their lock.
fn clear_leftovers(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(FETCHED) {
            continue;
        }
        if let Some(held) = OwnedDir::find(&entry.path()).filter(is_abandoned) {
            let _ = held.clear();
        } else if is_old(entry.metadata()) {
            owned_dir::sweep(&entry.path(), FETCHED);
        }
    }
}

fn is_abandoned(held: &OwnedDir) -> bool {
    is_old(held.metadata()) && held.lock()
}

fn is_old(about: io::Result<fs::Metadata>) -> bool {
    let age = about.and_then(|about| about.modified()).ok();
    let age = age.and_then(|made| SystemTime::now().duration_since(made).ok());
    age.is_some_and(|age| age > YOUNG)
}

fn clone(
    request: &FetchRequest<'_>,
    url: &str,
    here: &SkillsContext,
    into: &Path,
) -> Result<(), Failure> {
    let program = here
        .place
        .invocation
        .program_path()
        .context("cannot tell where this program is");
    let supervisor = Supervisor::at(program.map_err(Failure::internal)?);
    let request = CloneRequest {
        url,
        into,
        environment: &here.place.environment,
        supervisor: &supervisor,
        deadline: request.deadline,
        limits: CloneLimits::default(),
        cancel: request.stop.cancel_token(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.context("cannot start").map_err(Failure::internal)?;
    runtime.block_on(git::clone(&request)).map_err(not_cloned)
}

fn not_cloned(error: CloneError) -> Failure {
    let exit = match error {
        CloneError::Cancelled(_) => return cancelled_failure(),
        CloneError::TimedOut { .. } => CommandExit::Timeout,
        CloneError::NoGit | CloneError::Start(_) => CommandExit::AgentMissing,
        CloneError::TooMuch { .. } => CommandExit::Limit,
        CloneError::Io(_) | CloneError::Left(_) => CommandExit::Internal,
        _ => CommandExit::BadInput,
    };
    let mut failure = Failure::bad_input(error);
    failure.exit = exit;
    failure
}

#[cfg(test)]
mod tests {
    use super::github_url;

    #[test]
    fn an_owner_and_a_name_are_a_repository_on_github() {
        let url = |source| github_url(source);
        let expected = Some("https://github.com/anthropics/skills.git".to_owned());
        assert_eq!(url("anthropics/skills"), expected);
        assert_eq!(url("anthropics/skills.git"), expected);
        assert_eq!(
            url("a-b/c_d.e").as_deref(),
            Some("https://github.com/a-b/c_d.e.git")
        );
        for path in [
            "skills",
            "./skills",
            "../skills",
            "a/b/c",
            "/a/b",
            "a/",
            "/b",
            "-a/b",
            "a/..",
            "a/.b",
            "a b/c",
            "pack/reviewer.skill",
            "https://x/y",
            "git@x:y/z",
            "a/b?c",
            "",
        ] {
            assert_eq!(url(path), None, "{path}");
        }
    }
}
