//! `sessions stats`: counts of turns, tools and tokens, and their cost.

mod chart;
mod csv;

use std::io::{self, Write};
use std::path::PathBuf;

use lapidary::engine::agents::family;
use lapidary::render::live::MarkSet;
use lapidary::render::plain::sanitize;
use lapidary::sessions::{PriceTable, StatsRequest, stats_with};
use lapidary::vocab::line;
use lapidary::vocab::stats::Stats;

use super::super::prices;
use super::super::time::{self, DayEnd};
use super::common::{AgentFilter, ProjectScope, SessionsContext};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::live::terminal;
use crate::printer::Printer;

/// Count sessions, turns, tools, tokens and cost
///
/// Each answer of a model in a file counts once, also one that was rewound, one before a checkpoint and one of a sub-agent: they used tokens all the same. An answer that a forked or resumed session repeats counts once. Days are UTC. Prices come from a dated table in the program; tokens that were read from a cache or written to one have prices of their own; a model without a price is counted as unpriced, never as free.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions stats
  lapidary sessions stats --all --since 30d
  lapidary sessions stats --all --agent claude --format csv > usage.csv
  lapidary sessions stats --all --model pro --format json | jq .cost

Prices of your own, in US dollars for a million tokens, in your lapidary.toml or in a file for --prices:
  [prices.\"gemini-2.5-pro\"]
  input = 1.25
  cached = 0.125
  output = 10.0
  cache_write = 1.25        # default: as input; cache_write_1h likewise
  long = { above = 200_000, input = 2.5, cached = 0.25, output = 15.0 }")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ProjectScope,
    #[command(flatten)]
    whose: AgentFilter,
    /// Only from then on: `today`, `yesterday`, a date (UTC), a time (RFC 3339), or an age (12h, 7d, 4w, 6m)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only until then; a day counts whole
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Only models whose names contain this
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Prices that count before those of lapidary.toml and of the program
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// The output [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<StatsFormat>,
}

/// How counts are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StatsFormat {
    /// For reading on a terminal, with a chart
    Text,
    /// One object, as `lapidary schema stats` describes it
    Json,
    /// One row for each day, agent, project and model
    Csv,
}

impl StatsFormat {
    /// Text for people, JSON for programs.
    fn or_usual(format: Option<Self>, is_terminal: bool) -> Self {
        let usual = if is_terminal { Self::Text } else { Self::Json };
        format.unwrap_or(usual)
    }
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let request = StatsRequest {
        since: time::parse_bound(args.since.as_deref(), place.now, DayEnd::First)?,
        // The first moment that does not count.
        until: time::parse_bound(args.until.as_deref(), place.now, DayEnd::Last)?
            .map(|last| last + 1),
        model: args.model.clone(),
    };
    let prices = stats_prices(args, &place)?;
    let projects = place.scope_projects(&args.scope)?;
    let mut others = place.other_usage(&args.scope, &projects);
    others.retain(|it| args.whose.takes_provider(it.provider()));
    others.retain_usage_of(|name| args.whose.takes_provider(&family(name)));
    let own = args.whose.gemini_projects(&projects);
    let mut stats = stats_with(own, &others, &request, &prices);
    stats.warnings.extend(others.warnings);
    match StatsFormat::or_usual(args.format, out.is_terminal) {
        StatsFormat::Json => line::write(out, &stats)?,
        StatsFormat::Text => print_text(&stats, out)?,
        StatsFormat::Csv => {
            print_warnings(&stats, out);
            let mut rows = out.foreign_bytes();
            csv::write_rows(&stats.usage, &mut rows)?;
            rows.finish()?;
        }
    }
    Ok(CommandExit::Success)
}

/// The known prices, and those of the file that was named over them.
fn stats_prices(args: &Args, place: &SessionsContext) -> Result<PriceTable, Failure> {
    let known = prices::known_prices(&place.environment)?;
    match &args.prices {
        Some(named) => Ok(prices::read_prices(named)?.over(known)),
        None => Ok(known),
    }
}

fn print_warnings(stats: &Stats, out: &mut Printer) {
    for warning in &stats.warnings {
        out.print_message(&format!("warning: {warning}"));
    }
}

fn print_text(stats: &Stats, out: &mut Printer) -> Result<(), Failure> {
    print_warnings(stats, out);
    if stats.messages == 0 {
        out.print_note("nothing was recorded here, or nothing that was asked for")?;
        return Ok(());
    }
    let width = out.terminal_width().unwrap_or(80);
    // Programs that read a file or a mail may know ASCII only.
    let marks = if out.colour {
        terminal::locale_marks(&out.invocation)
    } else {
        MarkSet::Ascii
    };
    write_summary(stats, out)?;
    write_providers(stats, width, out)?;
    write_models(stats, width, out)?;
    write_projects(stats, width, out)?;
    write_tools(stats, width, out)?;
    writeln!(out)?;
    chart::draw_chart(stats, width, marks, out)?;
    Ok(())
}

fn write_summary(stats: &Stats, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}, {}, {}, {} ({} failed)",
        counted_noun(stats.sessions, "session"),
        counted_noun(stats.turns, "turn"),
        counted_noun(stats.answers, "answer"),
        counted_noun(stats.tool_calls, "tool call"),
        grouped_digits(stats.tool_errors)
    )?;
    let tokens = &stats.tokens;
    let cache_written = match tokens.cache_written {
        0 => String::new(),
        written => format!(", {} written to a cache", grouped_digits(written)),
    };
    writeln!(
        out,
        "{} tokens: {} read ({} of them cached{cache_written}), {} written, {} thought",
        grouped_digits(tokens.total),
        grouped_digits(tokens.input.saturating_add(tokens.tool)),
        grouped_digits(tokens.cached),
        grouped_digits(tokens.output),
        grouped_digits(tokens.thoughts)
    )?;
    writeln!(out, "{}", sanitize(&cost_line(stats)))?;
    for price in &stats.price_sources {
        let day = match price.as_of.as_str() {
            "" => "without a date",
            day => day,
        };
        let source = format!("  prices: {day}, {}", price.source);
        writeln!(out, "{}", sanitize(&source))?;
    }
    if stats.answers_without_tokens > 0 {
        let count = counted_noun(stats.answers_without_tokens, "answer");
        writeln!(out, "{count} without token counts")?;
    }
    Ok(())
}

/// `Cost: $0.12 at the prices of 2026-11-01; no price for some-model (880 tokens)`
fn cost_line(stats: &Stats) -> String {
    let unpriced = stats.models.iter().filter(|model| model.cost.is_none());
    let unpriced: Vec<_> = unpriced
        .filter_map(|model| model.model.as_deref())
        .collect();
    let tokens = counted_noun(stats.unpriced_tokens, "token");
    let missing = match (stats.unpriced_tokens, unpriced.as_slice()) {
        (0, _) => None,
        (_, []) => Some(format!("no model named for {tokens}")),
        (_, names) => Some(format!("no price for {}; {tokens}", names.join(", "))),
    };
    match (stats.cost, missing) {
        (Some(cost), None) => format!(
            "Cost: {} at the prices of {}",
            dollar_text(cost),
            stats.prices_as_of
        ),
        (Some(cost), Some(missing)) => {
            format!(
                "Cost: {} at the prices of {} ({missing})",
                dollar_text(cost),
                stats.prices_as_of
            )
        }
        (None, Some(missing)) => format!("Cost: unknown ({missing})"),
        (None, None) => "Cost: unknown (no token counts)".to_owned(),
    }
}

/// How wide the names of models and tools are.
fn name_width(width: usize) -> usize {
    /// The width of the columns behind the names.
    const FACTS: usize = 49;
    width.saturating_sub(FACTS).clamp(8, 28)
}

/// By agent, where there is more than one.
fn write_providers(stats: &Stats, width: usize, out: &mut dyn Write) -> io::Result<()> {
    if stats.providers.len() < 2 {
        return Ok(());
    }
    let width = name_width(width);
    writeln!(out)?;
    for provider in &stats.providers {
        let name = sanitize(provider.provider.as_str());
        let cost = provider.cost.map_or_else(|| "?".to_owned(), dollar_text);
        let sessions = if provider.sessions == 1 {
            "session"
        } else {
            "sessions"
        };
        writeln!(
            out,
            "  {:<width$} {:>5} {sessions:<8} {:>14} tokens {cost:>9}",
            super::list::shorten_to_width(&name, width),
            grouped_digits(provider.sessions),
            grouped_digits(provider.tokens.total)
        )?;
    }
    Ok(())
}

fn write_models(stats: &Stats, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let width = name_width(width);
    writeln!(out)?;
    for model in &stats.models {
        let name = sanitize(model.model.as_deref().unwrap_or("(no model named)"));
        let answers = if model.answers == 1 {
            "answer"
        } else {
            "answers"
        };
        let cost = model.cost.map_or_else(|| "?".to_owned(), dollar_text);
        writeln!(
            out,
            "  {:<width$} {:>6} {answers:<7} {:>14} tokens {cost:>9}",
            super::list::shorten_to_width(&name, width),
            grouped_digits(model.answers),
            grouped_digits(model.tokens.total)
        )?;
    }
    Ok(())
}

/// By project, where there is more than one.
fn write_projects(stats: &Stats, width: usize, out: &mut dyn Write) -> io::Result<()> {
    /// More projects than that are in the JSON.
    const SHOWN: usize = 12;
    if stats.projects.len() < 2 {
        return Ok(());
    }
    let width = name_width(width);
    writeln!(out)?;
    for project in stats.projects.iter().take(SHOWN) {
        let name = sanitize(project.project.as_deref().unwrap_or("(no project named)"));
        let cost = project.cost.map_or_else(|| "?".to_owned(), dollar_text);
        let sessions = if project.sessions == 1 {
            "session"
        } else {
            "sessions"
        };
        writeln!(
            out,
            "  {:<width$} {:>5} {sessions:<8} {:>14} tokens {cost:>9}",
            end_of_path(&name, width),
            grouped_digits(project.sessions),
            grouped_digits(project.tokens.total)
        )?;
    }
    if let Some(more) = stats.projects.len().checked_sub(SHOWN + 1) {
        writeln!(out, "  and {} more", more + 1)?;
    }
    Ok(())
}

/// A path that may be shortened at its beginning: its end tells projects apart.
fn end_of_path(path: &str, width: usize) -> String {
    let mut names = path.rsplit('/');
    let mut end = names.next().unwrap_or_default().to_owned();
    if end.len() > width || path.len() <= width {
        return super::list::shorten_to_width(path, width);
    }
    for name in names {
        if end.chars().count() + name.chars().count() + 3 > width {
            break;
        }
        end = format!("{name}/{end}");
    }
    format!("…/{end}")
}

fn write_tools(stats: &Stats, width: usize, out: &mut dyn Write) -> io::Result<()> {
    /// More tools than that are in the JSON.
    const SHOWN: usize = 12;
    if stats.tools.is_empty() {
        return Ok(());
    }
    let width = name_width(width);
    writeln!(out)?;
    for tool in stats.tools.iter().take(SHOWN) {
        let name = super::list::shorten_to_width(&sanitize(&tool.name), width);
        let calls = if tool.calls == 1 { "call" } else { "calls" };
        let failed = match tool.errors {
            0 => String::new(),
            errors => format!(", {} failed", grouped_digits(errors)),
        };
        writeln!(
            out,
            "  {name:<width$} {:>6} {calls}{failed}",
            grouped_digits(tool.calls)
        )?;
    }
    if let Some(more) = stats
        .tools
        .len()
        .checked_sub(SHOWN)
        .filter(|more| *more > 0)
    {
        writeln!(out, "  and {more} more")?;
    }
    Ok(())
}

/// A number of things.
fn counted_noun(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped_digits(number))
}

/// A number with its thousands apart.
fn grouped_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An amount in cents; an amount below a cent has four decimals, so that it does not look like zero.
fn dollar_text(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 {
        format!("${amount:.4}")
    } else {
        format!("${amount:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_small_change_is_seen() {
        assert_eq!(grouped_digits(0), "0");
        assert_eq!(grouped_digits(999), "999");
        assert_eq!(grouped_digits(1_000), "1,000");
        assert_eq!(grouped_digits(1_234_567), "1,234,567");
        assert_eq!(dollar_text(0.0), "$0.00");
        assert_eq!(dollar_text(0.0012), "$0.0012");
        assert_eq!(dollar_text(12.345), "$12.35");
    }
}
