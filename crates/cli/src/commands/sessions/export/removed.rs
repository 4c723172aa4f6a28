//! The removed secrets, as a table.

use lapidary::sessions::redact::{RedactedSecret, RedactionReport};

/// How many secrets are listed one by one.
const MOST_LINES: usize = 40;

/// The source of the secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum RedactedSource {
    /// The messages that had them are named by their numbers.
    Session,
    /// Events have no numbers that a reader of a transcript could look up.
    Run,
}

/// The table, line by line.
pub(in crate::commands) fn redaction_table(
    report: &RedactionReport,
    source: RedactedSource,
) -> Vec<String> {
    if report.is_empty() {
        return vec!["redacted: nothing was found that looks like a secret".to_owned()];
    }
    let rows = report.findings.iter().take(MOST_LINES);
    let rows: Vec<_> = rows.map(|finding| finding_row(finding, source)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..3).map(|column| width(column).unwrap_or(0)).collect();
    let lines = rows.iter().map(|[what, count, sample, place]| {
        let line = format!(
            "  {what:0$}  {count:>1$}  {sample:2$}  {place}",
            widths[0], widths[1], widths[2]
        );
        line.trim_end().to_owned()
    });
    let mut table = vec![format!(
        "redacted: {} in {}",
        counted_noun(report.findings.len() as u64, "secret", "secrets"),
        counted_noun(report.count(), "place", "places")
    )];
    table.extend(lines);
    if report.findings.len() > MOST_LINES {
        let more = report.findings.len() - MOST_LINES;
        table.push(format!("  and {more} more"));
    }
    table
}

fn finding_row(finding: &RedactedSecret, source: RedactedSource) -> [String; 4] {
    let numbers: Vec<_> = finding.messages.iter().map(u64::to_string).collect();
    let place = match numbers.as_slice() {
        _ if source == RedactedSource::Run => String::new(),
        [] => "not in the conversation as it stands".to_owned(),
        [only] => format!("message {only}"),
        several => format!("messages {}", several.join(", ")),
    };
    let what = finding.placeholder.trim_matches(['[', ']']);
    let what = what.strip_prefix("redacted:").unwrap_or("home directory");
    [
        what.to_owned(),
        format!("{}×", finding.count),
        finding.sample.clone(),
        place,
    ]
}

fn counted_noun(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
