//! The comparison, as a Markdown table.

use std::fmt;
use std::time::Duration;

use super::measure::ProcessCost;

/// One line of the table.
#[derive(Debug, Clone)]
pub(super) struct TranslateRow {
    pub(super) corpus: &'static str,
    pub(super) what: String,
    pub(super) bytes: u64,
    pub(super) cost: ProcessCost,
    /// The CPU time of Node for the same corpus, where it was measured.
    pub(super) node: Option<Duration>,
}

impl TranslateRow {
    /// Megabytes per second of CPU time.
    pub(super) fn megabytes_per_second(&self) -> f64 {
        in_megabytes(self.bytes) / self.cost.cpu.as_secs_f64().max(1e-6)
    }
}

/// Megabytes, a million bytes each.
#[expect(
    clippy::cast_precision_loss,
    reason = "three digits are shown, fifteen are kept"
)]
pub(super) fn in_megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

pub(super) struct TranslateTable<'a>(pub(super) &'a [TranslateRow]);

impl fmt::Display for TranslateTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| corpus | what | CPU s | MB/s | × Node | peak MB |")?;
        writeln!(f, "|---|---|---:|---:|---:|---:|")?;
        for row in self.0 {
            let cpu = row.cost.cpu.as_secs_f64();
            let ratio = row.node.map(|node| node.as_secs_f64() / cpu.max(1e-6));
            let ratio = ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
            let peak = in_megabytes(row.cost.peak_kib * 1024);
            let TranslateRow { corpus, what, .. } = row;
            let speed = row.megabytes_per_second();
            writeln!(
                f,
                "| {corpus} | {what} | {cpu:.3} | {speed:.0} | {ratio} | {peak:.1} |"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_much_faster_than_node_it_is() {
        let row = TranslateRow {
            corpus: "deltas",
            what: "a".to_owned(),
            bytes: 50_000_000,
            cost: ProcessCost {
                cpu: Duration::from_millis(250),
                peak_kib: 2_000,
                ..ProcessCost::default()
            },
            node: Some(Duration::from_millis(500)),
        };
        let table = TranslateTable(&[row]).to_string();
        assert!(
            table.ends_with("| deltas | a | 0.250 | 200 | 2.00 | 2.0 |\n"),
            "{table}"
        );
    }
}
