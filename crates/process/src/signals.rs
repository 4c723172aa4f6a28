//! Signals by their names, as recordings have them.

use signal_hook::low_level::signal_name;

/// The prefix of a signal that has only a number.
const NAMELESS: &str = "signal ";

/// What only stops a process. By name: not every system has these.
const STOPPING: [&str; 4] = ["SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU"];

/// No system has more.
const LAST: i32 = 127;

/// `SIGKILL`, or `signal 40` where there is no name.
pub fn name(number: i32) -> String {
    signal_name(number).map_or_else(|| format!("{NAMELESS}{number}"), str::to_owned)
}

/// The number of a signal that a process can end by.
pub fn number(name: &str) -> Option<i32> {
    let named = || (1..=LAST).find(|number| signal_name(*number) == Some(name));
    let number = match name.strip_prefix(NAMELESS) {
        Some(number) => number.parse().ok(),
        None => named(),
    };
    let ends = |number: &i32| signal_name(*number).is_none_or(|name| !STOPPING.contains(&name));
    number.filter(|number| (1..=LAST).contains(number) && ends(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_number_and_a_number_is_a_name() {
        for (number_of, name_of) in [(9, "SIGKILL"), (15, "SIGTERM"), (99, "signal 99")] {
            assert_eq!(name(number_of), name_of);
            assert_eq!(number(name_of), Some(number_of));
        }
    }

    #[test]
    fn a_name_of_no_signal_or_of_one_that_only_stops_is_no_end() {
        for no_end in [
            "",
            "SIGNAL",
            "signal 0",
            "signal 128",
            "signal -1",
            "SIGSTOP",
            "SIGTTIN",
        ] {
            assert_eq!(number(no_end), None, "{no_end}");
        }
    }
}
