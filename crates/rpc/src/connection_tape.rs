//! The recording of a connection: stdin, stdout and stderr of the agent, and the times of their bytes.

use std::fs::File;
use std::io::{self, Write as _};
use std::time::Duration;

use jiff::Timestamp;

use super::error::ConnectionError;
use lapidary_recording::{Channel, Manifest, Recorder, STDERR, STDIN, STDOUT, TimingEntry};

/// An agent that writes word by word would cost three system calls a word. Bytes within this time are noted as one moment, …
const ONE_MOMENT: Duration = Duration::from_millis(1);

/// … and moments are written, and stderr is looked at, only so often, and with each heartbeat. If our process is killed, so much
/// of the timing is lost, and nothing else.
const OFTEN: Duration = Duration::from_millis(20);

/// A recording while it is made. `stdin` and `stdout` are written here, `stderr` by the agent itself.
#[derive(Debug)]
pub(super) struct ConnectionTape {
    recorder: Recorder,
    stdin: File,
    stdout: File,
    stderr: File,
    /// How far stderr had grown when it was last looked at, and when that was.
    complained: u64,
    /// The length of stderr at the time of the agent's last line.
    complained_before: u64,
    looked: Duration,
    /// The moments that are not written yet, and the time of the last write.
    moments: Vec<TimingEntry>,
    noted: Duration,
    /// The times of the newest moments of stdin and stdout.
    last_told: Duration,
    last_said: Duration,
    /// How many bytes of stdout are recorded, and of how many the time is noted.
    recorded: u64,
    timed: u64,
    /// How many bytes the agent has written.
    written: u64,
    /// How many it may.
    limit: u64,
    /// How many bytes were sent to the agent.
    heard: u64,
    /// A write has failed: from then on offsets into the recording are wrong.
    is_torn: bool,
}

/// The recorded bytes of both directions, for reading them again.
#[derive(Debug)]
pub(super) struct RecordedTraffic {
    pub(super) stdin: File,
    pub(super) stdout: File,
}

impl ConnectionTape {
    pub(super) fn new(recorder: Recorder, limit: u64) -> io::Result<Self> {
        Ok(Self {
            stdin: recorder.channel(STDIN)?,
            stdout: recorder.channel(STDOUT)?,
            stderr: recorder.channel(STDERR)?,
            recorder,
            complained: 0,
            complained_before: 0,
            looked: Duration::ZERO,
            moments: Vec::new(),
            noted: Duration::ZERO,
            last_told: Duration::ZERO,
            last_said: Duration::ZERO,
            recorded: 0,
            timed: 0,
            written: 0,
            limit,
            heard: 0,
            is_torn: false,
        })
    }

    /// The agent has said this. Its time is noted line by line: see [`Self::take_line`].
    pub(super) fn record_received(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        let recorded = self.record_stdout(bytes);
        self.is_torn |= recorded.is_err();
        recorded
    }

    fn record_stdout(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        if self.recorder.elapsed().saturating_sub(self.looked) > OFTEN {
            self.look_at_stderr()?;
        }
        self.complained_before = self.complained;
        self.count_written(bytes.len() as u64)?;
        let written = self.stdout.write_all(bytes);
        written.map_err(recording_error)?;
        self.recorded += bytes.len() as u64;
        self.flush_if_due()
    }

    /// Notes the time of a line that ends at this offset in the agent's output. Lines that we send between two lines of one read
    /// keep their place in the recording, too.
    pub(super) fn take_line(&mut self, end: u64) {
        let end = end.min(self.recorded);
        let more = end.saturating_sub(self.timed);
        if more > 0 {
            self.timed = end;
            self.note_moment(Channel::Out, more);
        }
    }

    /// All lines of a read are taken. The remaining bytes are the beginning of a line.
    pub(super) fn take_rest(&mut self) {
        self.take_line(self.recorded);
    }

    /// When the newest line of the agent was said, as the recording tells it.
    pub(super) fn time_of_received(&self) -> Timestamp {
        self.time_since_start(self.last_said)
    }

    /// When the newest line was sent to the agent.
    pub(super) fn time_of_sent(&self) -> Timestamp {
        self.time_since_start(self.last_told)
    }

    fn time_since_start(&self, since: Duration) -> Timestamp {
        let started = self.recorder.started_at();
        started.checked_add(since).unwrap_or(started)
    }

    /// Records bytes that are sent to the agent. Returns their offset in all that was sent.
    pub(super) fn record_sent(&mut self, bytes: &[u8]) -> Result<u64, ConnectionError> {
        let written = self.stdin.write_all(bytes).map_err(recording_error);
        let noted = written.and_then(|()| {
            self.note_moment(Channel::In, bytes.len() as u64);
            self.flush_if_due()
        });
        self.is_torn |= noted.is_err();
        let start = self.heard;
        self.heard += bytes.len() as u64;
        noted.map(|()| start)
    }

    /// Records the end of the agent's stdin. A replay waits for its client to close stdin there, too.
    pub(super) fn hung_up(&mut self) {
        let at = self.recorder.elapsed();
        let (channel, bytes) = (Channel::In, 0);
        self.moments.push(TimingEntry { at, channel, bytes });
    }

    /// The recorded bytes, if all were recorded.
    pub(super) fn recorded_traffic(&self) -> Option<RecordedTraffic> {
        let open = |name| File::open(self.recorder.directory().join(name)).ok();
        if self.is_torn {
            return None;
        }
        Some(RecordedTraffic {
            stdin: open(STDIN)?,
            stdout: open(STDOUT)?,
        })
    }

    /// The length of stderr at the time of the agent's last line.
    pub(super) fn complained_before(&self) -> u64 {
        self.complained_before
    }

    /// Whether a write has failed.
    pub(super) fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// Notes how far stderr has grown, and says if the agent has written too much by now.
    pub(super) fn look_at_stderr(&mut self) -> Result<(), ConnectionError> {
        let length = self.stderr.metadata().map_or(0, |metadata| metadata.len());
        let more = length.saturating_sub(self.complained); // the file may have been truncated
        self.looked = self.recorder.elapsed();
        self.complained += more;
        if more > 0 {
            self.note_moment(Channel::Err, more);
        }
        self.flush_moments().map_err(recording_error)?;
        self.count_written(more)
    }

    pub(super) fn write_manifest(&mut self, manifest: &Manifest) -> io::Result<()> {
        self.flush_moments()?;
        self.recorder.describe(manifest)
    }

    /// Writes the moments that are not written yet.
    pub(super) fn flush_moments(&mut self) -> io::Result<()> {
        self.noted = self.recorder.elapsed();
        let moments = std::mem::take(&mut self.moments);
        if moments.is_empty() {
            return Ok(());
        }
        self.recorder.note_all(&moments)
    }

    /// Counts the bytes that the agent has written.
    fn count_written(&mut self, bytes: u64) -> Result<(), ConnectionError> {
        self.written = self.written.saturating_add(bytes);
        let limit = self.limit;
        if self.written > limit {
            return Err(ConnectionError::TooMuch { limit });
        }
        Ok(())
    }

    fn note_moment(&mut self, channel: Channel, bytes: u64) {
        let at = self.recorder.elapsed();
        let at = match self.moments.last_mut() {
            Some(last) if last.channel == channel && at.saturating_sub(last.at) < ONE_MOMENT => {
                last.bytes += bytes;
                last.at
            }
            _ => {
                self.moments.push(TimingEntry { at, channel, bytes });
                at
            }
        };
        match channel {
            Channel::In => self.last_told = at,
            Channel::Out => self.last_said = at,
            Channel::Err => {}
        }
    }

    fn flush_if_due(&mut self) -> Result<(), ConnectionError> {
        if self.recorder.elapsed().saturating_sub(self.noted) > OFTEN {
            self.flush_moments().map_err(recording_error)?;
        }
        Ok(())
    }
}

impl Drop for ConnectionTape {
    fn drop(&mut self) {
        let _ = self.flush_moments(); // a full disk was reported before
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn recording_error(error: io::Error) -> ConnectionError {
    ConnectionError::Unrecorded { kind: error.kind() }
}
