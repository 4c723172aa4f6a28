//! Outcomes, causes and exit codes.

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
