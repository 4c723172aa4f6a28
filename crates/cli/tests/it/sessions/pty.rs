//! A program on a pseudo-terminal that can be typed at and looked at while it runs.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::num::NonZeroU16;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::DEADLINE;

/// What lets a test type and resize.
const PTY: &str = include_str!("pty.py");

/// A program, and the content of its terminal.
pub(crate) struct Pty {
    child: Child,
    commands: ChildStdin,
    shown: Receiver<Vec<u8>>,
    told: Receiver<String>,
    parser: vt100::Parser,
    /// All that was ever shown.
    pub(crate) bytes: Vec<u8>,
    /// The program's process.
    pub(crate) pid: u32,
}

/// How it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    /// Lines are edited and echoed again, Ctrl-C is a signal again.
    pub(crate) is_cooked: bool,
}

impl Pty {
    /// Runs a command on a terminal of this size.
    pub(crate) fn spawn(command: &Command, (columns, rows): (u16, u16)) -> Self {
        let variables = command.get_envs().filter_map(|(name, value)| {
            let mut pair = name.to_owned();
            pair.push("=");
            pair.push(value?);
            Some(pair)
        });
        let mut python = Command::new("python3");
        python
            .args(["-c", PTY, &rows.to_string(), &columns.to_string()])
            // The script gets the variables as arguments: Python adds variables for the locale to its own environment.
            .args(variables)
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir(command.get_current_dir().unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = python.spawn().unwrap();
        let told = lines(child.stderr.take().unwrap());
        let pid = told.recv_timeout(DEADLINE).unwrap().parse().unwrap();
        Self {
            commands: child.stdin.take().unwrap(),
            shown: bytes(child.stdout.take().unwrap()),
            told,
            child,
            parser: parser(columns, rows),
            bytes: Vec::new(),
            pid,
        }
    }

    pub(crate) fn type_in(&mut self, keys: &str) {
        use std::fmt::Write as _;
        let hex = keys.bytes().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        writeln!(self.commands, "type {hex}").unwrap();
    }

    pub(crate) fn resize(&mut self, (columns, rows): (u16, u16)) {
        let size = |number| NonZeroU16::new(number).unwrap();
        self.parser.screen_mut().set_size(size(rows), size(columns));
        writeln!(self.commands, "size {rows} {columns}").unwrap();
    }

    /// Waits until the screen is as it should be; returns it.
    #[track_caller]
    pub(crate) fn wait(&mut self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let last = Instant::now() + DEADLINE;
        loop {
            let screen = self.screen();
            if is_there(&screen) {
                return screen;
            }
            let left = last.saturating_duration_since(Instant::now());
            match self.shown.recv_timeout(left) {
                Ok(bytes) => self.take(&bytes),
                Err(error) => panic!("{what}: {error}\n{screen}"),
            }
        }
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// Waits until nothing new has been shown for a while, and neither the program nor what shows it waits for its turn to work.
    pub(crate) fn settle(&mut self) -> String {
        loop {
            match self.shown.recv_timeout(Duration::from_millis(400)) {
                Ok(bytes) => self.take(&bytes),
                Err(_) if is_at_work(self.pid) || is_at_work(self.child.id()) => {}
                Err(_) => return self.screen(),
            }
        }
    }

    /// Waits until the program has ended by itself.
    pub(crate) fn ended(&mut self) -> Ended {
        let told = self.told.recv_timeout(DEADLINE).expect("it ends in time");
        let (code, mode) = told.split_once(' ').unwrap();
        while let Ok(bytes) = self.shown.recv_timeout(DEADLINE) {
            self.take(&bytes);
        }
        Ended {
            code: code.parse().unwrap(),
            is_cooked: mode == "cooked",
        }
    }

    /// The text on the screen.
    pub(crate) fn screen(&mut self) -> String {
        while let Ok(bytes) = self.shown.try_recv() {
            self.take(&bytes);
        }
        self.parser.screen().contents()
    }

    /// The terminal as it is now.
    pub(crate) fn terminal(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    fn take(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
        self.bytes.extend_from_slice(bytes);
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // The program loses its terminal with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// True if a thread of the process runs, or would if it were its turn.
fn is_at_work(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    threads.into_iter().flatten().flatten().any(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit(") ").next().unwrap_or_default();
        state.starts_with(['R', 'D'])
    })
}

fn parser(columns: u16, rows: u16) -> vt100::Parser {
    let size = |number| NonZeroU16::new(number).unwrap();
    vt100::Parser::new(size(rows), size(columns), 0)
}

fn bytes(mut from: impl std::io::Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 65536];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn lines(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
