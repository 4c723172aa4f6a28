//! Counts as comma-separated values (RFC 4180), for spreadsheets.

use std::io::{self, Write};

use lapidary::vocab::stats::UsageRow;

const HEADER: &str =
    "date,agent,project,model,answers,input,cached,cacheWritten,output,thoughts,tool,total,costUsd";

/// Writes a header and one line for each row. An unknown cost is an empty cell.
pub(super) fn write_rows(rows: &[UsageRow], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{HEADER}\r\n")?;
    for row in rows {
        let texts = [
            row.date.as_deref(),
            Some(row.provider.as_str()),
            row.project.as_deref(),
            row.model.as_deref(),
        ];
        let texts = texts.map(|text| text_cell(text.unwrap_or_default()));
        let used = &row.tokens;
        let numbers = [
            row.answers,
            used.input,
            used.cached,
            used.cache_written,
            used.output,
            used.thoughts,
            used.tool,
            used.total,
        ];
        let numbers = numbers.map(|number| number.to_string());
        // The sum of many products has digits beyond those of any price.
        let cost = row.cost.map(|cost| (cost * 1e9).round() / 1e9);
        let cost = cost.map(|cost| cost.to_string()).unwrap_or_default();
        let (texts, numbers) = (texts.join(","), numbers.join(","));
        write!(out, "{texts},{numbers},{cost}\r\n")?;
    }
    Ok(())
}

/// A text in quotation marks where it needs them. Spreadsheets take a text that begins with one of `=+-@` for a formula: names of
/// models come from files that are not trusted, so such a text gets an apostrophe before it.
fn text_cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapidary::vocab::event::Provider;
    use lapidary::vocab::stats::TokenCounts;

    #[test]
    fn a_cell_with_a_comma_is_quoted_and_a_formula_is_a_text() {
        let row = UsageRow {
            date: Some("2026-11-01".to_owned()),
            provider: Provider::Claude,
            project: Some("/a,\"b\"".to_owned()),
            model: Some("=1+1".to_owned()),
            answers: 2,
            tokens: TokenCounts {
                input: 30,
                cached: 20,
                cache_written: 5,
                output: 7,
                total: 37,
                ..TokenCounts::default()
            },
            cost: Some(0.1 + 0.2),
        };
        let mut out = Vec::new();
        write_rows(&[row, UsageRow::default()], &mut out).unwrap();
        let lines: Vec<_> = std::str::from_utf8(&out).unwrap().split("\r\n").collect();
        assert_eq!(lines[0], HEADER);
        assert_eq!(
            lines[1],
            "2026-11-01,claude,\"/a,\"\"b\"\"\",'=1+1,2,30,20,5,7,0,0,37,0.3"
        );
        assert!(lines[2].ends_with(",,,0,0,0,0,0,0,0,0,"), "{}", lines[2]);
    }
}
