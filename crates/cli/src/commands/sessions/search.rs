//! `sessions search`: finds sessions by the texts and tool calls in them.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::time::{Instant, SystemTime};

use anstyle::{AnsiColor, Style};
use anyhow::anyhow;
use lapidary::render::plain::{one_line, sanitize};
use lapidary::sessions::search::{
    EntryRole, SearchFilters, SearchHits, SearchQuery, SessionHit, SessionSearch,
};
use lapidary::sessions::{SessionMemory, UnlistedPlace, age};
use lapidary::vocab::line;
use lapidary::vocab::session::{SEARCH_SCHEMA, SearchHit, SearchResult, TextMatch};

use super::super::time::{self, DayEnd};
use super::common::{AgentFilter, ProjectScope, SessionsContext, SessionsFormat};
use super::list::shorten_to_width;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::live::terminal;
use crate::printer::Printer;

/// From when on a search was slow enough to speak of an index.
const SLOW_MS: u128 = 1500;

/// Find sessions by their text: prompts, answers, commands, files
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions search sqlite locked
  lapidary sessions search '\"connection reset\" retr*' --all
  lapidary sessions search 東京 🎉
  lapidary sessions search --regex 'E[0-9]{4}' --role tool --tool run_shell_command
  lapidary sessions search migration --since 7d --model flash
  lapidary sessions search todo --format json | jq -r '.hits[].id'

A session is found if all words are in it: in its title, in what the user, the model or a tool said, in the input of a tool. \
Sessions with everything in the title come first, then those with the most places, then the newest. If nothing is found, \
the exit code is 0, and a note says so.

Words are compared whole, in any case and without accents: `cafe` finds `Café`, `strasse` finds `Straße`. In quotes accents count: \
`\"cafe\"` does not find `Café`. Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese are found inside of longer texts: `本語` finds \
`日本語`. Emoji are words. How a text is encoded (NFC, NFD, full width) makes no difference.")]
pub(crate) struct Args {
    /// Words, "several words in a row" with just these accents, or the beginning of a word with a star: begin*
    #[arg(required = true, value_name = "WORD")]
    words: Vec<String>,
    /// Take the query as one regular expression
    #[arg(short = 'e', long)]
    regex: bool,
    #[command(flatten)]
    scope: ProjectScope,
    #[command(flatten)]
    whose: AgentFilter,
    /// Sessions that changed since then: `today`, `yesterday`, a date (UTC), a time (RFC 3339), or an age (12h, 7d, 4w, 6m)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Sessions that began until then; a day counts whole
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Look only in the input and output of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Look only in what models did that have this in their name
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Look only in what one side said
    #[arg(long, value_enum)]
    role: Option<SearchSide>,
    /// How many sessions to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

/// The author of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SearchSide {
    /// The session's summary, or the beginning of its first message
    Title,
    /// The user
    User,
    /// The model, thoughts included
    Assistant,
    /// Tools: their input and output
    Tool,
    /// Gemini CLI itself: errors, warnings
    Notice,
}

impl SearchSide {
    fn entry_role(self) -> EntryRole {
        match self {
            Self::Title => EntryRole::Title,
            Self::User => EntryRole::User,
            Self::Assistant => EntryRole::Assistant,
            Self::Tool => EntryRole::Tool,
            Self::Notice => EntryRole::Notice,
        }
    }
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let search = session_search(args, place.now)?;
    let projects = place.scope_projects(&args.scope)?;
    let mut index = place.session_index(&args.scope);
    let is_indexed = index.is_open();
    let begun = Instant::now();
    let scope = args.whose.search_scope(&args.scope, &projects);
    let mut found = search.with(&mut index, scope.gemini_projects(), place.now);
    let listing = || place.listing_of(&args.scope, &projects);
    let mut memory = SessionMemory::index(&mut index);
    place.add_unlisted_hits(&mut found, &search, &scope, &mut memory, listing);
    found.warnings.append(&mut index.warnings);
    let was_slow = begun.elapsed().as_millis() > SLOW_MS;
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => print_json(found, out)?,
        SessionsFormat::Text => print_text(args, &found, &place, out)?,
    }
    if was_slow && !is_indexed && !args.regex && !args.scope.no_index {
        out.print_note("`lapidary sessions index` makes searches like this one fast")?;
    }
    Ok(CommandExit::Success)
}

fn session_search(args: &Args, now: SystemTime) -> Result<SessionSearch, Failure> {
    let text = args.words.join(" ");
    let query = if args.regex {
        SearchQuery::regex(&text)
    } else {
        SearchQuery::words(&text)
    };
    let query = query.map_err(|error| Failure::usage(anyhow!(error)))?;
    Ok(SessionSearch {
        query,
        filters: SearchFilters {
            since_ms: time::parse_bound(args.since.as_deref(), now, DayEnd::First)?,
            until_ms: time::parse_bound(args.until.as_deref(), now, DayEnd::Last)?,
            tool: args.tool.clone(),
            model: args.model.clone(),
            role: args.role.map(SearchSide::entry_role),
        },
        limit: args.limit,
    })
}

fn print_json(found: SearchHits, out: &mut Printer) -> io::Result<()> {
    let result = SearchResult {
        schema: SEARCH_SCHEMA.to_owned(),
        total: found.total as u64,
        hits: found.hits.into_iter().map(published_hit).collect(),
        warnings: found.warnings,
    };
    line::write(out, &result)
}

fn published_hit(hit: SessionHit) -> SearchHit {
    let info = hit.session.into_info();
    SearchHit {
        id: info.id,
        provider: info.provider,
        run: info.run,
        display_name: info.display_name,
        file_name: info.file_name,
        path: info.path,
        start_time: info.start_time,
        last_updated: info.last_updated,
        message_count: info.message_count,
        project: info.project,
        project_id: info.project_id,
        unlisted: info.unlisted,
        is_in_title: hit.in_title,
        matching_texts: hit.matching_texts,
        match_snippets: hit.snippets,
    }
}

fn print_text(
    args: &Args,
    found: &SearchHits,
    place: &SessionsContext,
    out: &mut Printer,
) -> Result<(), Failure> {
    for warning in &found.warnings {
        out.print_message(&format!("warning: {warning}"));
    }
    let providers = found.hits.iter().map(|hit| &hit.session.info().provider);
    let headings = HitHeadings {
        now: place.now,
        names_project: args.scope.all,
        names_agent: providers.collect::<BTreeSet<_>>().len() > 1,
    };
    for (place_in_list, hit) in found.hits.iter().enumerate() {
        if place_in_list > 0 {
            writeln!(out)?;
        }
        headings.print_heading(hit, out)?;
        for snippet in &hit.snippets {
            print_snippet(snippet, out)?;
        }
    }
    if found.hits.is_empty() {
        let elsewhere = if args.scope.all {
            ""
        } else {
            "; --all looks in every project"
        };
        out.print_note(&format!("nothing found{elsewhere}"))?;
    } else if found.total > found.hits.len() {
        let more = found.total - found.hits.len();
        out.print_note(&format!("{more} more; --limit shows them"))?;
    }
    Ok(())
}

/// The first lines of hits: id, age, title; the agent and the project, where there are several.
struct HitHeadings {
    now: SystemTime,
    names_project: bool,
    names_agent: bool,
}

impl HitHeadings {
    fn print_heading(&self, hit: &SessionHit, out: &mut Printer) -> io::Result<()> {
        let info = hit.session.info();
        let age = age(hit.session.updated_ms, self.now);
        let width = usize::from(terminal::terminal_size(&out.invocation).width);
        let room = if out.is_terminal { width } else { 160 };
        let mark = match &info.unlisted {
            Some(UnlistedPlace::Vault) => "(in the vault only)  ".to_owned(),
            Some(UnlistedPlace::Recording) => format!("({}, recorded)  ", info.provider),
            _ if self.names_agent => format!("({})  ", info.provider),
            _ => String::new(),
        };
        let start = format!("{}  {age}  {}", sanitize(&info.id), sanitize(&mark));
        let left = room.saturating_sub(start.chars().count()).max(20);
        let title = one_line(&info.display_name);
        let bold = Style::new().bold();
        let bold = if out.colour { bold } else { Style::new() };
        writeln!(
            out,
            "{start}{bold}{}{bold:#}",
            shorten_to_width(&title, left)
        )?;
        if self.names_project {
            let project = info.project.as_deref().unwrap_or(&info.project_id);
            writeln!(out, "    in {}", sanitize(project))?;
        }
        Ok(())
    }
}

/// A snippet, with the match in colour, or between marks where there is none.
fn print_snippet(snippet: &TextMatch, out: &mut Printer) -> io::Result<()> {
    let who = match (&snippet.tool, snippet.message) {
        (Some(tool), Some(message)) => format!("{message} {tool}"),
        (_, Some(message)) => format!("{message} {}", snippet.role),
        (_, None) => snippet.role.clone(),
    };
    let style = AnsiColor::Red.on_default().bold();
    let (from, to) = if out.colour {
        (format!("{style}"), format!("{style:#}"))
    } else {
        ("«".to_owned(), "»".to_owned())
    };
    writeln!(
        out,
        "    {}: {}{from}{}{to}{}",
        one_line(&who),
        one_line(snippet.before.trim_start()),
        one_line(&snippet.matched),
        one_line(snippet.after.trim_end())
    )
}
