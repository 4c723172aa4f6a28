//! `sessions export`: sessions as files to keep, to show and to pass on.

pub(in crate::commands) mod file;
pub(in crate::commands) mod redacted;
pub(in crate::commands) mod removed;
mod source;

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use lapidary::normalize::gemini::{session_document, session_events};
use lapidary::normalize::{NormalizeOptions, RecordOrder};
use lapidary::render::Renderer;
use lapidary::render::html::HtmlRenderer;
use lapidary::render::markdown::MarkdownRenderer;
use lapidary::render::outline::Outline;
use lapidary::render::plain::sanitize;
use lapidary::sessions::redact::{RedactionReport, Redactor, SessionOwner};
use lapidary::sessions::{
    ListedSession, OtherSession, OtherSessions, SelectError, SelectionMode, SessionListing, select,
};
use lapidary::wire::gemini::session::ReplayedLog;

use removed::RedactedSource;
use source::{ExportSource, read_file};

use super::super::prices::TranscriptPrices;
use super::common::{AgentFilter, NewestSession, ProjectScope, SessionsContext, other_named};
use super::failed_search::FailedSearch;
use super::identify::not_found;
use super::show::is_path;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Write sessions into files, to keep, to show or to pass on
///
/// With --redact, keys, tokens, passwords and home directories are removed first, in every format, and a table on stderr lists them.
/// What looks like any other word stays, and so does everything inside Base64 (images, archives): look before you publish.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions export > session.md
  lapidary sessions export 3 --to html --redact -o session.html
  lapidary sessions export latest --redact --dry-run
  lapidary sessions export 1 2 3 --to json -o exported/
  lapidary sessions export --all -o backup/ --to session
  lapidary sessions export --all --agent claude -o transcripts/
  lapidary sessions export 4f1c2b3a --to session -o moved.jsonl && gemini --session-file moved.jsonl

An existing file is only replaced with --force. A file that was not redacted is readable only by you.")]
pub(crate) struct Args {
    /// Numbers of the list, ids or their beginnings, `latest`, or files [default: the most recently updated; with --all, all of them]
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    #[command(flatten)]
    scope: ProjectScope,
    #[command(flatten)]
    whose: AgentFilter,
    /// The file to write, or `-` for stdout; the directory, for several sessions [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What to write
    #[arg(long, value_enum, default_value_t = ExportFormat::Markdown)]
    to: ExportFormat,
    /// Remove keys, tokens, passwords and home directories
    #[arg(long)]
    redact: bool,
    /// Only list what --redact would remove
    #[arg(long, requires = "redact")]
    dry_run: bool,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    /// A transcript in Markdown
    Markdown,
    /// A transcript as one self-contained page
    Html,
    /// One document: the session's description and its messages
    Json,
    /// Gemini CLI's own format, which `gemini --session-file` takes
    Session,
}

impl ExportFormat {
    /// Whether sessions of every agent have this format.
    fn is_transcript(self) -> bool {
        matches!(self, Self::Markdown | Self::Html)
    }

    fn file_ending(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html => "html",
            Self::Json => "json",
            Self::Session => "jsonl",
        }
    }
}

/// A session that is to be written, and under which name if it is one of several.
struct WantedExport<'o> {
    source: ExportSource<'o>,
    name: String,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let known = KnownSessions::list_known(args, &place)?;
    let wanted = wanted_exports(args, &known, &out.invocation)?;
    let home = place.environment.home.clone();
    let redactor = args.redact.then(|| Redactor::new(&SessionOwner { home }));
    let is_many = args.sessions.len() > 1 || (args.sessions.is_empty() && args.scope.all);
    if is_many && !args.dry_run {
        return export_many(args, &wanted, redactor.as_ref(), &out.invocation);
    }
    for session in &wanted {
        let report = export_one(args, session, redactor.as_ref(), out)?;
        report_export(session, report.as_ref(), is_many, &out.invocation);
    }
    Ok(CommandExit::Success)
}

/// One session, to where it is wanted.
fn export_one(
    args: &Args,
    session: &WantedExport<'_>,
    redactor: Option<&Redactor>,
    out: &mut Printer,
) -> Result<Option<RedactionReport>, Failure> {
    let bytes = session.source.read_bytes(args.to, &out.invocation)?;
    if args.dry_run {
        return Ok(redactor.map(|redactor| redactor.look(&bytes)));
    }
    let (bytes, report) = redacted::redacted_session(bytes, redactor, &out.invocation.temp_dir())?;
    let invocation = out.invocation.clone();
    match args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"))
    {
        Some(path) => write_file(args, session, &bytes, path, &invocation)?,
        None => write_session(args, session, &bytes, &invocation, out)?,
    }
    Ok(report)
}

/// Several sessions, each to a file of its own. One that cannot be exported does not keep the others from it.
fn export_many(
    args: &Args,
    wanted: &[WantedExport<'_>],
    redactor: Option<&Redactor>,
    invocation: &Arc<Invocation>,
) -> Result<CommandExit, Failure> {
    let folder = args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    let Some(folder) = folder else {
        let failure = Failure::usage(anyhow!("several sessions do not go into one file"));
        return Err(failure.with_hint("name a directory for them with --output"));
    };
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the directory `{}`", folder.display()))
        .map_err(Failure::bad_input)?;
    let shows_progress = invocation.is_stderr_terminal();
    let mut exit = CommandExit::Success;
    for (number, session) in (1..).zip(wanted) {
        if shows_progress {
            let _ = write!(
                invocation.stderr_writer(),
                "\r\x1b[Kexporting {number} of {}",
                wanted.len()
            );
        }
        let path = folder.join(format!("{}.{}", session.name, args.to.file_ending()));
        let result = session
            .source
            .read_bytes(args.to, invocation)
            .and_then(|bytes| redacted::redacted_session(bytes, redactor, &invocation.temp_dir()))
            .and_then(|(bytes, report)| {
                write_file(args, session, &bytes, &path, invocation)?;
                Ok(report)
            });
        if shows_progress {
            let _ = write!(invocation.stderr_writer(), "\r\x1b[K");
        }
        match result {
            Ok(report) => report_export(session, report.as_ref(), true, invocation),
            Err(failure) => {
                invocation.print_message(&format!("error: {:#}", failure.error));
                exit = CommandExit::BadInput;
            }
        }
    }
    Ok(exit)
}

fn write_file(
    args: &Args,
    session: &WantedExport<'_>,
    bytes: &[u8],
    path: &Path,
    invocation: &Arc<Invocation>,
) -> Result<(), Failure> {
    let manner = file::ExportManner {
        is_private: !args.redact,
        replaces: args.force,
    };
    file::write_export_file(path, manner, |out| {
        write_session(args, session, bytes, invocation, out)
    })
}

/// The session in the format that is wanted.
fn write_session(
    args: &Args,
    session: &WantedExport<'_>,
    bytes: &[u8],
    invocation: &Arc<Invocation>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let path = match &session.source {
        ExportSource::File(path) => path,
        ExportSource::OtherFile(_) | ExportSource::Other(_) => {
            return source::write_transcript(bytes, args.to, invocation, out);
        }
    };
    let log = read_log(path, bytes)?;
    match args.to {
        ExportFormat::Markdown => {
            let mut renderer = MarkdownRenderer::knowing(log_outline(&log, invocation));
            render_log(&log, &mut renderer, invocation, out)?;
        }
        ExportFormat::Html => {
            let mut renderer = HtmlRenderer::knowing(log_outline(&log, invocation));
            render_log(&log, &mut renderer, invocation, out)?;
        }
        ExportFormat::Json => session_document::write(&log, args.redact, out)?,
        ExportFormat::Session => log.write(out)?,
    }
    Ok(())
}

/// Writes one session as Markdown to a new file, for callers with a screen of their own.
pub(super) fn export_markdown(
    from: &Path,
    to: &Path,
    invocation: &Arc<Invocation>,
) -> Result<(), Failure> {
    let bytes = read_file(from)?;
    let log = read_log(from, &bytes)?;
    let manner = file::ExportManner {
        is_private: true,
        replaces: false,
    };
    file::write_export_file(to, manner, |out| {
        let mut renderer = MarkdownRenderer::knowing(log_outline(&log, invocation));
        Ok(render_log(&log, &mut renderer, invocation, out)?)
    })
}

/// The same of a session of another provider.
pub(super) fn other_markdown(
    session: OtherSession<'_>,
    to: &Path,
    invocation: &Arc<Invocation>,
) -> Result<(), Failure> {
    let lines = ExportSource::Other(session).read_bytes(ExportFormat::Markdown, invocation)?;
    let manner = file::ExportManner {
        is_private: true,
        replaces: false,
    };
    file::write_export_file(to, manner, |out| {
        source::write_transcript(&lines, ExportFormat::Markdown, invocation, out)
    })
}

fn read_log<'b>(path: &Path, bytes: &'b [u8]) -> Result<ReplayedLog<'b>, Failure> {
    let log = ReplayedLog::read(bytes);
    if log.is_empty() {
        let error = anyhow!("`{}` holds no record of a session", path.display());
        return Err(Failure::bad_input(error));
    }
    Ok(log)
}

fn normalize_options() -> NormalizeOptions {
    let mut options = NormalizeOptions::new("exported");
    options.keep_raw = false;
    options.record_order = RecordOrder::Reading;
    options
}

fn log_outline(log: &ReplayedLog<'_>, invocation: &Arc<Invocation>) -> Outline {
    let mut outline = Outline::default();
    let prices = TranscriptPrices::new(invocation);
    session_events::events(log, &normalize_options(), |event| {
        outline.event(&prices.priced_event(&event));
    });
    outline
}

fn render_log(
    log: &ReplayedLog<'_>,
    renderer: &mut dyn Renderer,
    invocation: &Arc<Invocation>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut result = Ok(());
    let prices = TranscriptPrices::new(invocation);
    session_events::events(log, &normalize_options(), |event| {
        if result.is_ok() {
            result = renderer.event(&prices.priced_event(&event), out);
        }
    });
    result?;
    renderer.finish(out)
}

fn report_export(
    session: &WantedExport<'_>,
    report: Option<&RedactionReport>,
    is_one_of_many: bool,
    invocation: &Invocation,
) {
    let Some(report) = report else { return };
    if is_one_of_many {
        invocation.print_message(&format!("{}:", session.name));
    }
    for line in removed::redaction_table(report, RedactedSource::Session) {
        invocation.print_message(&line);
    }
}

/// The named sessions, each once.
fn wanted_exports<'k>(
    args: &Args,
    known: &'k KnownSessions<'_>,
    invocation: &Arc<Invocation>,
) -> Result<Vec<WantedExport<'k>>, Failure> {
    let (files, ids): (Vec<_>, Vec<_>) = args.sessions.iter().partition(|named| is_path(named));
    let mut wanted: Vec<_> = files
        .into_iter()
        .map(|file| by_path(file, invocation))
        .collect();
    if args.sessions.is_empty() || !ids.is_empty() {
        if ids.is_empty() && args.scope.all {
            say_what_is_left_out(known, invocation);
        }
        wanted.extend(listed_exports(args, known, &ids)?);
    }
    let mut seen = HashSet::new();
    wanted.retain(|session| seen.insert(session.source.source_path().to_owned()));
    Ok(wanted)
}

/// Sessions that can be named.
struct KnownSessions<'p> {
    place: &'p SessionsContext,
    listing: SessionListing,
    /// Sessions of other providers, if a name is not in the list, or if the newest of all is wanted.
    others: OtherSessions,
}

impl<'p> KnownSessions<'p> {
    fn list_known(args: &Args, place: &'p SessionsContext) -> Result<Self, Failure> {
        let mut known = Self {
            place,
            listing: SessionListing::default(),
            others: OtherSessions::default(),
        };
        if !args.sessions.is_empty() && args.sessions.iter().all(|named| is_path(named)) {
            return Ok(known);
        }
        known.listing = place.list_sessions(&args.scope)?;
        if args.whose.is_given() {
            let is_wanted = |it: &ListedSession| args.whose.takes_provider(it.provider());
            known.others = place.only_others(&args.scope, &known.listing)?;
            known.others.retain(is_wanted);
            known.listing.sessions.retain(is_wanted);
            return Ok(known);
        }
        let mut ids = args.sessions.iter().filter(|named| !is_path(named));
        let is_unknown = ids.any(|id| select(&known.listing, id, SelectionMode::Generous).is_err());
        let is_newest_wanted = args.sessions.is_empty() && !args.scope.all;
        let may_be_others = args.to.is_transcript() || known.listing.sessions.is_empty();
        if is_unknown || (is_newest_wanted && may_be_others) {
            known.others = place.only_others(&args.scope, &known.listing)?;
        }
        Ok(known)
    }
}

/// Reports how many files the export skips, in case it is meant as a backup.
fn say_what_is_left_out(known: &KnownSessions<'_>, invocation: &Invocation) {
    let listing = &known.listing;
    for warning in listing.warnings.iter().chain(&known.others.warnings) {
        invocation.print_message(&format!("warning: {}", sanitize(warning)));
    }
    let why = "`lapidary sessions list --all --hidden` says why";
    let count = listing.sessions.len() + known.others.iter().count();
    match (count, listing.hidden.len()) {
        (0, 0) => invocation.print_message("note: there is no session to export"),
        (_, 0) => {}
        (_, 1) => invocation.print_message(&format!(
            "note: 1 file without a session to resume was skipped; {why}"
        )),
        (_, count) => invocation.print_message(&format!(
            "note: {count} files without a session to resume were skipped; {why}"
        )),
    }
}

fn listed_exports<'k>(
    args: &Args,
    known: &'k KnownSessions<'_>,
    ids: &[&String],
) -> Result<Vec<WantedExport<'k>>, Failure> {
    let listing = &known.listing;
    let wanted = |session: &ListedSession| WantedExport {
        source: ExportSource::File(session.path.clone()),
        name: export_name(args, session),
    };
    let other = |session: OtherSession<'k>| WantedExport {
        name: export_name(args, session.listed),
        source: ExportSource::Other(session),
    };
    if !ids.is_empty() {
        let chosen = ids.iter().map(|id| {
            let error = match select(listing, id, SelectionMode::Generous) {
                Ok(session) => return Ok(wanted(session)),
                Err(error) => error,
            };
            let session = match other_named(id, &known.others)? {
                None if *id == "latest" && listing.sessions.is_empty() => {
                    known.others.iter().max_by_key(|it| it.listed.started_ms)
                }
                session => session,
            };
            let search = FailedSearch {
                place: known.place,
                is_everywhere: args.scope.all,
                others: &known.others,
            };
            session.map(other).ok_or_else(|| search.failure(id, error))
        });
        return chosen.collect();
    }
    if args.scope.all {
        // Sessions of other agents go into a backup only if they were asked for: they are in no format that an agent reads again.
        let others = known.others.iter().map(other);
        let files = listing.sessions.iter().map(wanted);
        return Ok(files.chain(others).collect());
    }
    match NewestSession::find(listing, &known.others) {
        Some(NewestSession::File(session)) => Ok(vec![wanted(session)]),
        Some(NewestSession::Other(session)) => Ok(vec![other(session)]),
        None => Err(not_found(SelectError::NoSessions)),
    }
}

/// The name of a session's file, without its ending.
fn export_name(args: &Args, session: &ListedSession) -> String {
    let row = session.row();
    if args.scope.all && !row.project_id.is_empty() {
        format!("{}-{}", row.project_id, row.file)
    } else {
        row.file.to_owned()
    }
}

fn by_path(named: &str, invocation: &Arc<Invocation>) -> WantedExport<'static> {
    let path = PathBuf::from(named);
    let stem = path.file_stem().unwrap_or_default();
    let name = stem.to_string_lossy().into_owned();
    WantedExport {
        source: ExportSource::of_file(path, invocation),
        name,
    }
}
