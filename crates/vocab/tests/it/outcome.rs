//! Outcomes, causes and exit codes.

use std::collections::BTreeMap;
use std::path::Path;

use lapidary_vocab::{Cause, Outcome};

#[test]
fn every_known_cause_has_its_own_kind_of_exit_code() {
    for word in Cause::KNOWN {
        let cause = Cause::from(*word);
        let code = cause.exit_code();
        let fits = match cause.outcome() {
            Outcome::Completed => code == 0,
            Outcome::Refused => code == 18,
            Outcome::Cancelled => code == 130,
            _ => code == 1 || code == 19 || (10..=17).contains(&code),
        };
        assert!(fits, "{word}: {code}");
    }
    assert_eq!(Cause::from("from_tomorrow").exit_code(), 1);
}

/// The causes of a table cell such as `` `bad_input`, `sandbox` ``.
fn quoted_words(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// Scripts depend on this table. Its codes are part of the contract.
#[test]
fn each_cause_has_the_exit_code_of_the_published_table() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/outcomes.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("| exit code | causes |").unwrap();
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let mut published = BTreeMap::new();
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        for cause in quoted_words(cells[2]).filter(|word| !word.starts_with("--")) {
            let twice = published.insert(cause, cells[1].parse().unwrap());
            assert_eq!(twice, None, "{row}");
        }
    }
    let ours = Cause::KNOWN.iter().map(|word| {
        let code = i32::from(Cause::from(*word).exit_code());
        ((*word).to_owned(), code)
    });
    assert_eq!(ours.collect::<BTreeMap<_, _>>(), published);
}
