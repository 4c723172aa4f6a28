//! The runs that a server has started. If the server is killed, the next one finds its unfinished runs and writes their end.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use lapidary::engine::recording::{is_name, private_file};
use lapidary::engine::replay::finish_cut_run;

const FILE: &str = "started-runs";

/// The file with the ids of runs that have started.
#[derive(Debug)]
pub(crate) struct StartedRuns {
    file: Mutex<File>,
}

impl StartedRuns {
    /// Ends the runs that were cut off with an earlier server, and begins the file anew.
    pub(crate) fn open(directory: &Path, recordings: &Path) -> io::Result<Self> {
        let path = directory.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        // A supervisor may still be ending the agents of that server: their runs stay for the next start.
        let left = text.lines().filter(|id| is_name(id));
        let left: Vec<_> = left
            .filter(|id| !finish_cut_run(&recordings.join(id)))
            .collect();
        let mut fresh = tempfile::NamedTempFile::new_in(directory)?;
        for id in left {
            writeln!(fresh, "{id}")?;
        }
        fresh.persist(&path)?;
        let file = Mutex::new(private_file(&path)?);
        Ok(Self { file })
    }

    /// Notes a run, before it starts.
    pub(crate) fn note(&self, id: &str) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(format!("{id}\n").as_bytes())
    }
}
