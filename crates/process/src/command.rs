//! A program to start, its standard streams, and the supervisor that starts it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Confinement, LandlockAbi, Lease, NULL, StdioHandle};

/// A program to start. It inherits nothing: its environment is exactly the variables given here.
#[derive(Debug, Clone)]
pub struct Command {
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) directory: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) mark: Option<(OsString, OsString)>,
    /// The program's `argv[0]`, if that is not its path. Only a [`ShortCommand`](super::ShortCommand) uses it.
    pub(super) called: Option<OsString>,
}

impl Command {
    /// The program in that directory, without arguments and with an empty environment.
    pub fn new(program: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            directory: directory.into(),
            environment: Vec::new(),
            mark: None,
            called: None,
        }
    }

    /// Tells the program that it is called so: some say their name when they complain.
    pub fn called(&mut self, name: impl Into<OsString>) -> &mut Self {
        self.called = Some(name.into());
        self
    }

    /// Adds a variable that nothing else has: by it everything that the program starts is found even if the supervisor is lost.
    pub fn mark(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        let mark = (name.into(), value.into());
        self.environment.push(mark.clone());
        self.mark = Some(mark);
        self
    }

    /// Adds arguments.
    pub fn args<S: Into<OsString>>(&mut self, args: impl IntoIterator<Item = S>) -> &mut Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Removes an option with its value: `--name value` or `--name=value`.
    pub fn remove_option(&mut self, name: &str) -> &mut Self {
        let prefix = format!("{name}=");
        let mut rest = std::mem::take(&mut self.args).into_iter();
        while let Some(arg) = rest.next() {
            if arg == name {
                rest.next();
            } else if !arg.as_encoded_bytes().starts_with(prefix.as_bytes()) {
                self.args.push(arg);
            }
        }
        self
    }

    /// Removes a flag that has no value.
    pub fn remove_flag(&mut self, name: &str) -> &mut Self {
        self.args.retain(|arg| arg != name);
        self
    }

    /// Drops the arguments from the first one on that is among these.
    pub fn truncate_before(&mut self, words: &[&str]) -> &mut Self {
        let mut args = self.args.iter();
        if let Some(place) = args.position(|arg| words.iter().any(|word| arg == word)) {
            self.args.truncate(place);
        }
        self
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[OsString] {
        &self.args
    }

    /// Adds to the environment. The last one of a name counts.
    pub fn envs<K: Into<OsString>, V: Into<OsString>>(
        &mut self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> &mut Self {
        let pairs = pairs
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        self.environment.extend(pairs);
        self
    }

    /// The value of a variable of its environment. The last one of a name counts.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut all = self.environment.iter().rev();
        let found = all.find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The program and its arguments, as they are recorded.
    pub fn argv(&self) -> Vec<String> {
        let program = self.program.as_os_str();
        let all = std::iter::once(program).chain(self.args.iter().map(OsString::as_os_str));
        all.map(|arg| arg.to_string_lossy().into_owned()).collect()
    }

    /// The names of its environment's variables, sorted. Values may be secrets and are not recorded.
    pub fn environment_names(&self) -> Vec<String> {
        let mut names: Vec<_> = self
            .environment
            .iter()
            .map(|(name, _)| lossy_text(name))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Where it runs.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

fn lossy_text(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}

/// The standard streams of a program.
#[derive(Debug)]
pub struct Stdio {
    /// Its input.
    pub stdin: StdioHandle,
    /// Its output.
    pub stdout: StdioHandle,
    /// Where it complains.
    pub stderr: StdioHandle,
}

impl Stdio {
    /// An empty input, and outputs that discard everything.
    pub fn null() -> io::Result<Self> {
        let null = || OpenOptions::new().read(true).write(true).open(NULL);
        Ok(Self {
            stdin: null()?.into(),
            stdout: null()?.into(),
            stderr: null()?.into(),
        })
    }

    /// Copies of our own.
    pub fn inherited() -> io::Result<Self> {
        Ok(Self {
            stdin: super::copied(&io::stdin())?,
            stdout: super::copied(&io::stdout())?,
            stderr: super::copied(&io::stderr())?,
        })
    }

    /// Files: a regular file takes all the output of a program, at any speed of its reader, and however the program ends.
    pub fn files(stdin: File, stdout: File, stderr: File) -> Self {
        Self {
            stdin: stdin.into(),
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }
}

/// The program that supervises agents.
///
/// The `lapidary` command is one. Any other program becomes one by calling [`supervisor::run_if_asked`] first thing in its
/// `main`, and may then name itself here.
///
/// [`supervisor::run_if_asked`]: super::supervisor::run_if_asked
#[derive(Debug, Clone)]
pub struct Supervisor {
    pub(super) program: PathBuf,
    pub(super) patience: Duration,
    #[cfg_attr(
        not(unix),
        expect(dead_code, reason = "only a supervisor confines, and there is none")
    )]
    pub(super) confinement: Option<Confinement>,
    /// The programs end when it ends.
    pub(super) lease: Option<Lease>,
    /// The kernel is taken for one that has no newer Landlock than this.
    newest_landlock: LandlockAbi,
}

/// A program that cannot be started in this time lies on a disk that does not answer, or has stopped its supervisor.
const PATIENCE: Duration = Duration::from_secs(10);

impl Supervisor {
    /// The supervisor in this file.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            patience: PATIENCE,
            confinement: None,
            lease: None,
            newest_landlock: LandlockAbi::SCOPES,
        }
    }

    /// Confines the programs it starts. Parts that the kernel does not support are not enforced: see [`LandlockAbi::missing`].
    pub fn confined(mut self, confinement: Confinement) -> Self {
        self.confinement = Some(confinement);
        self
    }

    /// Ends the programs it starts, with everything that they start, when the lease ends.
    pub fn leased(mut self, lease: Lease) -> Self {
        self.lease = Some(lease);
        self
    }

    /// The lease of the programs it starts, if there is one.
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Takes the kernel for an older one, to see what becomes of a confinement there.
    pub fn with_landlock_up_to(mut self, newest: LandlockAbi) -> Self {
        self.newest_landlock = newest;
        self
    }

    /// The version of Landlock that it confines with.
    pub fn landlock(&self) -> LandlockAbi {
        LandlockAbi::of_kernel().min(self.newest_landlock)
    }

    /// Gives up a start that takes longer than this, if that is less than the usual wait.
    pub fn within(mut self, time: Duration) -> Self {
        self.patience = self.patience.min(time);
        self
    }

    /// Where it is.
    pub fn program(&self) -> &Path {
        &self.program
    }
}
