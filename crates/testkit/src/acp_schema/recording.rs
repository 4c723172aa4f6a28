//! The client's messages in a recording.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::SchemaOracle;

impl SchemaOracle {
    /// Whether the client of this recording was allowed to send all that it sent. Returns how many lines these were.
    ///
    /// A recording is a folder with the bytes of each side in `stdin` and `stdout`, and in `timing` when how many of them went by.
    pub fn check_recording(&self, folder: &Path) -> Result<usize, String> {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let (stdin, stdout) = (read("stdin")?, read("stdout")?);
        let timing = String::from_utf8(read("timing")?).map_err(|error| error.to_string())?;
        let mut conversation = UnansweredRequests::default();
        let (mut client, mut agent) = (RecordedSide::new(&stdin), RecordedSide::new(&stdout));
        for moment in timing.lines() {
            let mut words = moment.split(' ').skip(1);
            let channel = words.next();
            let bytes = words.next().and_then(|bytes| bytes.parse().ok());
            let bytes = bytes.ok_or_else(|| format!("no moment: {moment}"))?;
            match channel {
                Some("in") => {
                    for line in client.grow(bytes) {
                        conversation.client(self, line)?;
                    }
                }
                Some("out") => agent.grow(bytes).for_each(|line| conversation.agent(line)),
                _ => {}
            }
        }
        match client.lines_left() {
            0 => Ok(conversation.checked),
            left => Err(format!(
                "`timing` does not tell when {left} lines were said"
            )),
        }
    }
}

/// What one side said, of which so much has been heard.
struct RecordedSide<'a> {
    unheard: &'a [u8],
    /// Bytes that are known to be there, but of a line that is not complete.
    held: usize,
}

impl<'a> RecordedSide<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            unheard: bytes,
            held: 0,
        }
    }

    /// The lines that are complete with so many more bytes.
    fn grow(&mut self, bytes: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let there = (self.held + bytes).min(self.unheard.len());
        let complete = self.unheard[..there]
            .iter()
            .rposition(|byte| *byte == b'\n');
        let (lines, rest) = self.unheard.split_at(complete.map_or(0, |end| end + 1));
        self.held = there - lines.len();
        self.unheard = rest;
        lines.split_inclusive(|byte| *byte == b'\n')
    }

    fn lines_left(&self) -> usize {
        self.unheard.split_inclusive(|byte| *byte == b'\n').count()
    }
}

/// Which requests of the agent are unanswered.
#[derive(Default)]
struct UnansweredRequests {
    /// By their ids, as JSON; the methods in the order in which they were asked, should an id be used twice.
    open: HashMap<String, Vec<String>>,
    checked: usize,
}

impl UnansweredRequests {
    fn agent(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return; // an agent may print other lines
        };
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            let open = self.open.entry(id.to_string()).or_default();
            open.push(method.to_owned());
        }
    }

    fn client(&mut self, oracle: &SchemaOracle, line: &[u8]) -> Result<(), String> {
        let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
        let answered = self.answered(line);
        self.checked += 1;
        oracle.check_sent(line.trim_end(), answered.as_deref())
    }

    fn answered(&mut self, line: &str) -> Option<String> {
        let message: Value = serde_json::from_str(line).ok()?;
        if message.get("method").is_some() {
            return None;
        }
        let open = self.open.get_mut(&message.get("id")?.to_string())?;
        (!open.is_empty()).then(|| open.remove(0))
    }
}
