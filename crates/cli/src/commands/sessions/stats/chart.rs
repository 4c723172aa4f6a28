//! Tokens by day as bars, or by week or month where there are too many days for a screen.

use std::collections::BTreeMap;
use std::io::{self, Write};

use jiff::ToSpan as _;
use jiff::civil::Date;
use lapidary::render::live::MarkSet;
use lapidary::vocab::stats::{DayStats, Stats};

use super::{dollar_text, grouped_digits};

/// No chart has more rows.
const MOST_ROWS: usize = 31;

/// The values of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ChartRow {
    tokens: u64,
    cost: Option<f64>,
}

/// The period of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChartSpan {
    Day,
    Week,
    Month,
}

/// Draws the chart, no wider than that.
pub(super) fn draw_chart(
    stats: &Stats,
    width: usize,
    marks: MarkSet,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (rows, span) = chart_rows(&stats.days);
    let Some(most) = rows.values().map(|row| row.tokens).max() else {
        return Ok(());
    };
    writeln!(
        out,
        "tokens by {}",
        match span {
            ChartSpan::Day => "day",
            ChartSpan::Week => "week (from Monday)",
            ChartSpan::Month => "month",
        }
    )?;
    let layout = ChartLayout::new(&rows, span, width);
    for (date, row) in &rows {
        let bar = chart_bar(row.tokens, most, layout.bar, marks);
        let padding = " ".repeat(layout.bar.saturating_sub(bar.chars().count()));
        let (label, amount) = (layout.date_label(*date, span), layout.amount_text(row));
        let line = format!(
            "  {label} {bar}{padding} {amount:>width$}",
            width = layout.amount
        );
        let cost = layout
            .cost
            .map(|width| format!(" {:>width$}", cost_text(row)));
        let line = line + &cost.unwrap_or_default();
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// How wide the columns are. Where there is little room, first the costs go, then the years, then the last digits.
#[derive(Debug, Clone, Copy)]
struct ChartLayout {
    is_short: bool,
    bar: usize,
    amount: usize,
    cost: Option<usize>,
}

impl ChartLayout {
    /// Bars shorter than this say nothing.
    const SHORTEST_BAR: usize = 8;
    const LONGEST_BAR: usize = 100;

    fn new(rows: &BTreeMap<Date, ChartRow>, span: ChartSpan, width: usize) -> Self {
        let widest =
            |text: &dyn Fn(&ChartRow) -> String| rows.values().map(|row| text(row).len()).max();
        let cost = widest(&cost_text).filter(|width| *width > 0);
        let layout = |is_short: bool, cost: Option<usize>| {
            let mut layout = Self {
                is_short,
                bar: 0,
                amount: 0,
                cost,
            };
            layout.amount = widest(&|row| layout.amount_text(row)).unwrap_or(0);
            let label = layout.date_label(Date::ZERO, span).len();
            let taken = 2 + label + 2 + layout.amount + cost.map_or(0, |width| width + 1);
            layout.bar = width.saturating_sub(taken).min(Self::LONGEST_BAR);
            layout
        };
        let layouts = [layout(false, cost), layout(false, None), layout(true, None)];
        let fits = |layout: &&Self| layout.bar >= Self::SHORTEST_BAR;
        let [.., shortest] = layouts;
        let found = layouts.iter().find(fits).copied();
        found.unwrap_or(Self {
            bar: shortest.bar.max(1),
            ..shortest
        })
    }

    fn date_label(self, date: Date, span: ChartSpan) -> String {
        let format = match (span, self.is_short) {
            (ChartSpan::Day | ChartSpan::Week, false) => "%Y-%m-%d",
            (ChartSpan::Day | ChartSpan::Week, true) => "%m-%d",
            (ChartSpan::Month, _) => "%Y-%m",
        };
        date.strftime(format).to_string()
    }

    fn amount_text(self, row: &ChartRow) -> String {
        match row.tokens {
            tokens @ 1_000_000.. if self.is_short => format!("{}M", tokens / 1_000_000),
            tokens @ 1_000.. if self.is_short => format!("{}k", tokens / 1_000),
            tokens => grouped_digits(tokens),
        }
    }
}

fn cost_text(row: &ChartRow) -> String {
    row.cost.map(dollar_text).unwrap_or_default()
}

/// The days as rows, including empty ones between them. Many days become weeks or months.
fn chart_rows(days: &[DayStats]) -> (BTreeMap<Date, ChartRow>, ChartSpan) {
    let dated: Vec<(Date, &DayStats)> = days
        .iter()
        .filter_map(|day| Some((day.date.parse().ok()?, day)))
        .collect();
    for span in [ChartSpan::Day, ChartSpan::Week] {
        let rows = grouped_by(&dated, span);
        if rows.len() <= MOST_ROWS {
            return (with_gaps(rows, span), span);
        }
    }
    let mut rows = grouped_by(&dated, ChartSpan::Month);
    while rows.len() > MOST_ROWS {
        rows.pop_first();
    }
    (rows, ChartSpan::Month)
}

fn grouped_by(days: &[(Date, &DayStats)], span: ChartSpan) -> BTreeMap<Date, ChartRow> {
    let mut rows: BTreeMap<Date, ChartRow> = BTreeMap::new();
    for (date, day) in days {
        let row = rows.entry(start_of(*date, span)).or_default();
        row.tokens = row.tokens.saturating_add(day.tokens.total);
        if let Some(cost) = day.cost {
            row.cost = Some(row.cost.unwrap_or(0.0) + cost);
        }
    }
    rows
}

fn start_of(date: Date, span: ChartSpan) -> Date {
    match span {
        ChartSpan::Day => date,
        ChartSpan::Week => {
            let back = i64::from(date.weekday().to_monday_zero_offset());
            date.checked_sub(back.days()).unwrap_or(date)
        }
        ChartSpan::Month => date.first_of_month(),
    }
}

/// Rows of nothing where nothing happened, as long as they fit.
fn with_gaps(rows: BTreeMap<Date, ChartRow>, span: ChartSpan) -> BTreeMap<Date, ChartRow> {
    let (Some(first), Some(last)) = (rows.keys().next().copied(), rows.keys().last().copied())
    else {
        return rows;
    };
    let step = if span == ChartSpan::Day {
        1.days()
    } else {
        7.days()
    };
    let mut all = rows.clone();
    let mut at = first;
    while at < last {
        all.entry(at).or_default();
        if all.len() > MOST_ROWS {
            return rows;
        }
        match at.checked_add(step) {
            Ok(next) => at = next,
            Err(_) => break,
        }
    }
    all
}

/// A bar. An amount above zero is always visible.
fn chart_bar(amount: u64, most: u64, room: usize, marks: MarkSet) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if amount == 0 || most == 0 {
        return String::new();
    }
    let eighths = u128::from(amount) * room as u128 * 8 / u128::from(most);
    let eighths = usize::try_from(eighths).unwrap_or(0).max(1);
    match marks {
        MarkSet::Unicode => format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]),
        MarkSet::Ascii => "#".repeat(eighths.div_ceil(8).min(room)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapidary::vocab::stats::TokenCounts;

    fn stats(days: &[(&str, u64)]) -> Stats {
        let days = days.iter().map(|(date, total)| DayStats {
            date: (*date).to_owned(),
            tokens: TokenCounts {
                total: *total,
                ..TokenCounts::default()
            },
            cost: Some(0.5),
            ..DayStats::default()
        });
        Stats {
            days: days.collect(),
            ..Stats::default()
        }
    }

    fn drawn(stats: &Stats, width: usize, marks: MarkSet) -> String {
        let mut out = Vec::new();
        draw_chart(stats, width, marks, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_day_chart_has_an_empty_bar_for_a_day_without_tokens() {
        let stats = stats(&[("2026-01-01", 1000), ("2026-01-03", 250), ("2026-01-04", 1)]);
        assert_eq!(
            drawn(&stats, 40, MarkSet::Ascii),
            "tokens by day\n  2026-01-01 ############### 1,000 $0.50\n  2026-01-02                     0\n  2026-01-03 ####              250 $0.50\n  2026-01-04 #                   1 $0.50\n"
        );
        let unicode = drawn(&stats, 40, MarkSet::Unicode);
        assert!(unicode.contains("2026-01-03 ███▊ "), "{unicode}");
    }

    #[test]
    fn many_days_are_weeks_and_many_weeks_are_months_and_nothing_is_wider_than_the_screen() {
        let start: Date = "2020-01-01".parse().unwrap();
        for (count, expected) in [
            (31, "tokens by day\n"),
            (60, "tokens by week"),
            (900, "tokens by month\n"),
            (4000, "tokens by month\n"),
        ] {
            let days: Vec<_> = (0..count)
                .map(|day: i64| start.checked_add(day.days()).unwrap().to_string())
                .collect();
            let days: Vec<_> = days.iter().map(|day| (day.as_str(), 123_456_789)).collect();
            for width in [20, 40, 80] {
                let text = drawn(&stats(&days), width, MarkSet::Unicode);
                assert!(text.starts_with(expected), "{text}");
                assert!(text.lines().count() <= MOST_ROWS + 1);
                let mut bars = text.lines().skip(1);
                assert!(bars.all(|line| line.chars().count() <= width), "{text}");
            }
        }
        assert_eq!(drawn(&stats(&[]), 80, MarkSet::Ascii), "");
    }
}
