//! The last line of a run on a terminal: the command that shows the run again, with its id.

use std::path::Path;

use lapidary::vocab::Cause;

use super::super::super::runs::common::RunStore;
use crate::invocation::Invocation;

/// Prints the line. It is printed only on a terminal, where the reader can run the command that it names.
pub(super) fn print_hint(recording: &Path, invocation: &Invocation) {
    if !invocation.is_stderr_terminal() {
        return;
    }
    let usual = RunStore::open(None, invocation).map(|store| store.root);
    invocation.print_message(&hint_line(recording, usual.ok().as_deref()));
}

/// The last lines of the demo, for a reader who sees a run for the first time.
pub(super) fn print_demo(recording: &Path, cause: &Cause, invocation: &Invocation) {
    let usual = RunStore::open(None, invocation).map(|store| store.root);
    let named = recording_name(recording, usual.ok().as_deref());
    let code = cause.exit_code();
    invocation.print_message(&format!("run {named} is recorded; exit code {code}"));
    invocation.print_message(&format!(
        "its transcript in the browser: lapidary runs open {named}"
    ));
    invocation.print_message("this run and all others on a page: lapidary serve --open");
    invocation.print_message("agents that are installed here: lapidary doctor");
}

fn hint_line(recording: &Path, usual: Option<&Path>) -> String {
    format!(
        "show it again: lapidary runs show {}",
        recording_name(recording, usual)
    )
}

/// The name by which a command finds a run. A recording in another directory is named by its path.
fn recording_name(recording: &Path, usual: Option<&Path>) -> String {
    let id = recording.file_name().unwrap_or_default().display();
    let is_usual = usual.is_some() && recording.parent() == usual;
    if is_usual {
        id.to_string()
    } else {
        format!("'{}'", recording.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_so_that_the_command_finds_it() {
        let usual = Some(Path::new("/state/runs"));
        assert_eq!(
            hint_line(Path::new("/state/runs/r-1"), usual),
            "show it again: lapidary runs show r-1"
        );
        assert_eq!(
            hint_line(Path::new("/my tests/r-1"), usual),
            "show it again: lapidary runs show '/my tests/r-1'"
        );
    }
}
