//! The last line of a run on a terminal: the command that shows the run again, with its id.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use super::super::super::runs::common::RunStore;
use crate::printer::complain;

/// Prints the line. It is printed only on a terminal, where the reader can run the command that it names.
pub(super) fn print(recording: &Path) {
    if !io::stderr().is_terminal() {
        return;
    }
    let usual = RunStore::open(None).map(|store| store.root);
    complain(&line(recording, usual.ok().as_deref()));
}

/// A run that is recorded elsewhere is named by its path.
fn line(recording: &Path, usual: Option<&Path>) -> String {
    let id = recording.file_name().unwrap_or_default().display();
    let is_usual = usual.is_some() && recording.parent() == usual;
    let named = if is_usual {
        id.to_string()
    } else {
        format!("'{}'", recording.display())
    };
    format!("show it again: lapidary runs show {named}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_so_that_the_command_finds_it() {
        let usual = Some(Path::new("/state/runs"));
        assert_eq!(
            line(Path::new("/state/runs/r-1"), usual),
            "show it again: lapidary runs show r-1"
        );
        assert_eq!(
            line(Path::new("/my tests/r-1"), usual),
            "show it again: lapidary runs show '/my tests/r-1'"
        );
    }
}
