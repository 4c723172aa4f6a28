//! Reads stdin: the prompt itself, or data that belongs to a prompt given as argument.
//!
//! Gemini CLI (0.24 and 0.61) puts the data, an empty line and the prompt into one message. It waits 500 ms for the first byte,
//! counted from the end of its own start, which takes one to two seconds; then it reads to the end, however long that takes.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};

use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::system;

/// The most bytes that are read from stdin.
const MOST_BYTES: u64 = 1 << 30;

/// How long the first byte of data beside a prompt may take. The stdin that some CI systems pass on never closes and never has
/// data.
const FIRST_BYTE: Duration = Duration::from_secs(2);

/// How long all of the data may take once there is some. A part of it would be a different prompt.
const ALL_BYTES: Duration = Duration::from_mins(1);

const WITHOUT: &str = "lapidary run 'PROMPT' < /dev/null keeps stdin out of the prompt";

/// The prompt that stdin is, to its end.
pub(super) fn read_prompt(invocation: &Invocation) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = invocation
        .stdin_reader()
        .take(MOST_BYTES + 1)
        .read_to_end(&mut bytes);
    read.context("cannot read the prompt from stdin")
        .map_err(Failure::bad_input)?;
    decode_text(bytes)
}

/// The data for a prompt that was given as argument. None if stdin is a terminal, or has nothing.
pub(super) fn beside_prompt(invocation: &Invocation) -> Result<Option<String>, Failure> {
    if invocation.is_stdin_terminal() {
        return Ok(None);
    }
    let Ok(stdin) = invocation.stdin_file() else {
        return Ok(None);
    };
    match read_data(&stdin, FIRST_BYTE, ALL_BYTES) {
        Ok(StdinData::Read(bytes)) => Ok(Some(decode_text(bytes)?).filter(|text| !text.is_empty())),
        Ok(StdinData::Silent) => {
            let time = FIRST_BYTE.as_secs();
            invocation.print_message(&format!(
                "note: nothing came on stdin in {time} s: the prompt goes without it"
            ));
            Ok(None)
        }
        Ok(StdinData::Endless) => {
            let time = ALL_BYTES.as_secs();
            let error = anyhow!("the data on stdin has not ended in {time} s");
            Err(Failure::bad_input(error).with_hint(WITHOUT))
        }
        Err(error) => {
            let error = anyhow!(error).context("cannot read the data on stdin");
            Err(Failure::bad_input(error).with_hint(WITHOUT))
        }
    }
}

/// The data, an empty line, the prompt.
pub(super) fn join_prompt(data: Option<&str>, prompt: &str) -> String {
    match data {
        Some(data) => format!("{data}\n\n{prompt}"),
        None => prompt.to_owned(),
    }
}

/// The data on stdin.
#[derive(Debug, PartialEq, Eq)]
enum StdinData {
    /// All of it, at most one byte more than may be.
    Read(Vec<u8>),
    /// No byte came, and no end either.
    Silent,
    /// Some bytes came, but no end.
    Endless,
}

fn read_data(mut stdin: &File, first: Duration, all: Duration) -> io::Result<StdinData> {
    let mut bytes = Vec::new();
    if !system::poll_readable(stdin, first)? {
        return Ok(StdinData::Silent);
    }
    let end = Instant::now() + all;
    let mut chunk = vec![0; 64 * 1024];
    while bytes.len() as u64 <= MOST_BYTES {
        if !system::poll_readable(stdin, end.saturating_duration_since(Instant::now()))? {
            return Ok(StdinData::Endless);
        }
        match stdin.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(StdinData::Read(bytes))
}

fn decode_text(bytes: Vec<u8>) -> Result<String, Failure> {
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Failure::bad_input(anyhow!(
            "the prompt on stdin goes on behind 1 GiB"
        )));
    }
    let text = String::from_utf8(bytes).context("the prompt on stdin is not UTF-8");
    text.map_err(Failure::bad_input)
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;
    use std::os::fd::OwnedFd;

    use super::*;

    /// So long that it is never over while a test runs.
    const LONG: Duration = Duration::from_hours(1);

    fn pipe() -> (File, io::PipeWriter) {
        let (reader, writer) = io::pipe().expect("a process may open two more files");
        (File::from(OwnedFd::from(reader)), writer)
    }

    #[test]
    fn a_pipe_that_stays_silent_is_not_waited_for() {
        let (reader, _open) = pipe();
        let found = read_data(&reader, Duration::ZERO, LONG).unwrap();
        assert_eq!(found, StdinData::Silent);
    }

    #[test]
    fn data_that_does_not_end_is_not_a_prompt() {
        let (reader, mut open) = pipe();
        open.write_all(b"half of it").unwrap();
        let found = read_data(&reader, LONG, Duration::from_millis(1)).unwrap();
        assert_eq!(found, StdinData::Endless);
    }

    #[test]
    fn data_is_read_to_its_end() {
        let (reader, mut writer) = pipe();
        let sent = vec![b'x'; 1 << 20];
        let expected = sent.clone();
        let writing = std::thread::spawn(move || writer.write_all(&sent));
        assert_eq!(
            read_data(&reader, LONG, LONG).unwrap(),
            StdinData::Read(expected)
        );
        writing.join().unwrap().unwrap();
        let (reader, writer) = pipe();
        drop(writer);
        assert_eq!(
            read_data(&reader, LONG, LONG).unwrap(),
            StdinData::Read(Vec::new())
        );
        let null = File::open("/dev/null").unwrap();
        assert_eq!(
            read_data(&null, LONG, LONG).unwrap(),
            StdinData::Read(Vec::new())
        );
    }
}
