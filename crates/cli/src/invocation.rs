//! The process as a command sees it: arguments, variables, current directory, standard streams and signals.
//!
//! `main` makes an [`Invocation`] of the process, and no other code of this crate asks the process for these things. So a caller
//! with an invocation of its own, such as a test, runs a command without starting a program.
#![expect(
    clippy::disallowed_methods,
    reason = "this file reads the environment and the standard streams for the commands"
)]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead as _, IsTerminal as _, Read, Write};
use std::path::PathBuf;

use lapidary::directories;
use lapidary::render::live::TerminalSize;
use lapidary::render::plain::sanitize;

use crate::system::{self, Interruptions};

/// One call of the program.
#[derive(Debug)]
pub struct Invocation {
    /// The arguments, the program's own name first.
    pub args: Vec<OsString>,
    /// The environment variables.
    pub variables: Vec<(OsString, OsString)>,
    /// The current directory. Paths in arguments are opened as they are given, so it must be the current directory of the thread
    /// that runs the command.
    pub current_dir: io::Result<PathBuf>,
    /// The path of this program, which supervises agents.
    pub program: io::Result<PathBuf>,
    /// Standard input, output and error.
    pub streams: StandardStreams,
}

/// Standard input, output and error of a command.
#[derive(Debug)]
pub enum StandardStreams {
    /// Those of the process. The command also listens for signals to end.
    Process,
    /// Three files. Signals are left to the caller.
    Files {
        /// Standard input.
        stdin: File,
        /// Standard output.
        stdout: File,
        /// Standard error.
        stderr: File,
    },
}

impl Invocation {
    /// The call that started this process.
    pub fn from_process() -> Self {
        Self {
            args: std::env::args_os().collect(),
            variables: std::env::vars_os().collect(),
            current_dir: std::env::current_dir(),
            program: std::env::current_exe(),
            streams: StandardStreams::Process,
        }
    }

    /// A variable's value.
    pub(crate) fn variable_value(&self, name: &str) -> Option<&OsStr> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// All variables.
    pub(crate) fn all_variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.variables.iter().cloned()
    }

    /// The current directory. It is not known if it was deleted.
    pub(crate) fn current_dir(&self) -> io::Result<PathBuf> {
        copy_result(&self.current_dir)
    }

    /// The path of this program.
    pub(crate) fn program_path(&self) -> io::Result<PathBuf> {
        copy_result(&self.program)
    }

    /// The directory for temporary files.
    pub(crate) fn temp_dir(&self) -> PathBuf {
        directories::temporary(self.variable_value("TMPDIR"))
    }

    /// Whether the terminal may be sent colours.
    pub(crate) fn can_colour(&self) -> bool {
        let is_refused = self
            .variable_value("NO_COLOR")
            .is_some_and(|it| !it.is_empty());
        !is_refused && !self.is_terminal_dumb()
    }

    /// Whether the terminal obeys no sequences.
    pub(crate) fn is_terminal_dumb(&self) -> bool {
        self.variable_value("TERM")
            .is_none_or(|term| term == "dumb")
    }

    pub(crate) fn is_stdin_terminal(&self) -> bool {
        match &self.streams {
            StandardStreams::Process => io::stdin().is_terminal(),
            StandardStreams::Files { stdin, .. } => stdin.is_terminal(),
        }
    }

    pub(crate) fn is_stdout_terminal(&self) -> bool {
        match &self.streams {
            StandardStreams::Process => io::stdout().is_terminal(),
            StandardStreams::Files { stdout, .. } => stdout.is_terminal(),
        }
    }

    pub(crate) fn is_stderr_terminal(&self) -> bool {
        match &self.streams {
            StandardStreams::Process => io::stderr().is_terminal(),
            StandardStreams::Files { stderr, .. } => stderr.is_terminal(),
        }
    }

    /// Whether a person can be asked: a question is shown on stderr and answered on stdin.
    pub(crate) fn can_ask(&self) -> bool {
        self.is_stdin_terminal() && self.is_stderr_terminal()
    }

    /// Stdin as the file that it is.
    pub(crate) fn stdin_file(&self) -> io::Result<File> {
        match &self.streams {
            StandardStreams::Process => system::stdin_file(),
            StandardStreams::Files { stdin, .. } => stdin.try_clone(),
        }
    }

    /// Stdin, to be read to its end by one reader.
    pub(crate) fn stdin_reader(&self) -> Box<dyn Read + Send> {
        match &self.streams {
            StandardStreams::Process => Box::new(io::stdin()),
            StandardStreams::Files { stdin, .. } => match stdin.try_clone() {
                Ok(file) => Box::new(file),
                Err(_) => Box::new(io::empty()),
            },
        }
    }

    /// Reads a line of stdin: the answer to a question. Without a newline at its end stdin has ended.
    pub(crate) fn read_line(&self) -> io::Result<String> {
        let mut line = String::new();
        match &self.streams {
            StandardStreams::Process => io::stdin().lock().read_line(&mut line)?,
            StandardStreams::Files { stdin, .. } => {
                io::BufReader::new(stdin).read_line(&mut line)?
            }
        };
        Ok(line)
    }

    /// Stdout, without a buffer.
    pub(crate) fn stdout_writer(&self) -> Box<dyn Write + Send> {
        match &self.streams {
            StandardStreams::Process => system::stdout_writer(),
            StandardStreams::Files { stdout, .. } => file_or_sink(stdout),
        }
    }

    /// Stderr, without a buffer.
    pub(crate) fn stderr_writer(&self) -> Box<dyn Write + Send> {
        match &self.streams {
            StandardStreams::Process => Box::new(io::stderr()),
            StandardStreams::Files { stderr, .. } => file_or_sink(stderr),
        }
    }

    /// The size of the terminal that stdout is.
    pub(crate) fn terminal_size(&self) -> Option<TerminalSize> {
        match &self.streams {
            StandardStreams::Process => system::terminal_size(),
            StandardStreams::Files { .. } => None,
        }
    }

    /// Prints a message on stderr. File names and other foreign text in it may hold control characters, so it is filtered.
    pub(crate) fn print_message(&self, text: &str) {
        // A closed stderr is ignored: there is no other place for the message. Further lines are indented, so that foreign text in
        // a message cannot pass for a message of ours.
        let text = sanitize(text).replace('\n', "\n  ");
        let _ = writeln!(self.stderr_writer(), "{text}");
    }

    /// Ends the process by a signal, if it was started for this command. Returns if the signal does not do that.
    pub(crate) fn die_of(&self, signal: i32) {
        if matches!(self.streams, StandardStreams::Process) {
            system::die_of(signal);
        }
    }

    /// The signals to end, from now on. None where signals are the caller's, or the system does not tell them.
    pub(crate) fn listen_for_signals(&self) -> Option<Interruptions> {
        match &self.streams {
            StandardStreams::Process => Interruptions::listen_for_signals().ok(),
            StandardStreams::Files { .. } => None,
        }
    }

    /// Listens for Ctrl-C and termination signals from now on, on a thread of its own. Does nothing where signals are the caller's.
    pub(crate) fn on_interruptions(
        &self,
        obey: impl AsyncFnOnce(Interruptions) + Send + 'static,
    ) -> io::Result<()> {
        match &self.streams {
            StandardStreams::Process => system::on_interruptions(obey),
            StandardStreams::Files { .. } => Ok(()),
        }
    }

    /// Calls `obey` once the reader of stdout is gone, on a thread of its own. Does nothing where the streams are the caller's.
    pub(crate) fn on_unread_stdout(&self, obey: impl FnOnce() + Send + 'static) {
        if !matches!(self.streams, StandardStreams::Process) {
            return;
        }
        let thread = std::thread::Builder::new().name("lapidary-reader".to_owned());
        // Without it the next write finds out.
        let _ = thread.spawn(move || {
            if system::wait_for_unread_stdout().is_ok() {
                obey();
            }
        });
    }
}

/// The same result once more: an error of the system cannot be cloned.
fn copy_result(result: &io::Result<PathBuf>) -> io::Result<PathBuf> {
    match result {
        Ok(path) => Ok(path.clone()),
        Err(error) => Err(match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        }),
    }
}

/// Without a free descriptor output goes nowhere, as it does for a process that started with a closed stdout.
fn file_or_sink(file: &File) -> Box<dyn Write + Send> {
    match file.try_clone() {
        Ok(file) => Box::new(file),
        Err(_) => Box::new(io::sink()),
    }
}
