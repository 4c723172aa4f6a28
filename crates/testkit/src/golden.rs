//! Golden files: today's output, kept to be compared with tomorrow's.
//!
//! `LAPIDARY_BLESS=1 cargo test` writes them anew; the difference is then reviewed like any other change.

use std::env;
use std::fs;
use std::path::Path;

/// Collects what differs, so that one run shows all of it.
#[derive(Debug, Default)]
pub struct GoldenFiles {
    stale: Vec<String>,
}

impl GoldenFiles {
    /// Compares `actual` with the file at `path`, or writes it when blessing.
    ///
    /// # Panics
    /// If a file cannot be written while blessing.
    pub fn check(&mut self, path: &Path, actual: &[u8]) {
        if env::var_os("LAPIDARY_BLESS").is_some() {
            let folder = path.parent().expect("a golden file lies in a folder");
            fs::create_dir_all(folder).expect("the folder of golden files can be made");
            fs::write(path, actual).expect("a golden file can be written");
            return;
        }
        match fs::read(path) {
            Ok(expected) if expected == actual => {}
            Ok(expected) => self.stale.push(first_difference(path, &expected, actual)),
            Err(_) => self
                .stale
                .push(format!("{}: there is no golden file yet", path.display())),
        }
    }

    /// Fails if a file differed.
    ///
    /// # Panics
    /// With the first differences, if there are any.
    pub fn finish(self) {
        let count = self.stale.len();
        let shown: Vec<_> = self.stale.into_iter().take(8).collect();
        assert!(
            count == 0,
            "{count} golden files differ (LAPIDARY_BLESS=1 writes them anew):\n{}",
            shown.join("\n")
        );
    }
}

fn first_difference(path: &Path, expected: &[u8], actual: &[u8]) -> String {
    let (expected, actual) = (
        String::from_utf8_lossy(expected),
        String::from_utf8_lossy(actual),
    );
    let lines = expected.lines().zip(actual.lines()).enumerate();
    let first = lines.into_iter().find(|(_, (old, new))| old != new);
    match first {
        Some((index, (old, new))) => {
            format!("{}:{}\n  - {old}\n  + {new}", path.display(), index + 1)
        }
        None => format!("{}: one is longer than the other", path.display()),
    }
}
