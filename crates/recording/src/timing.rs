//! `timing`: when each channel of a recording grew, and by how much.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::TIMING;
use super::follow::FollowedLines;

/// One of the agent's three files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Its stdin.
    In,
    /// Its stdout.
    Out,
    /// Its stderr.
    Err,
}

impl Channel {
    fn channel_word(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
            Self::Err => "err",
        }
    }
}

/// A channel had grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimingEntry {
    /// When, since the start.
    pub at: Duration,
    /// The channel.
    pub channel: Channel,
    /// By how many bytes.
    pub bytes: u64,
}

/// As a line of the file.
impl fmt::Display for TimingEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, micros) = (self.at.as_millis(), self.at.subsec_micros() % 1000);
        writeln!(
            f,
            "{ms}.{micros:03} {} {}",
            self.channel.channel_word(),
            self.bytes
        )
    }
}

/// Where a file of moments makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of `timing` makes no sense: {text:?}")]
pub struct TimingError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The text of the line.
    pub text: String,
}

/// The moments of a recording, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timing(pub Vec<TimingEntry>);

impl Timing {
    /// Reads a file of moments. A last line without its end is one that we were killed over: it is left out.
    pub fn read(text: &str) -> Result<Self, TimingError> {
        let mut moments: Vec<TimingEntry> = Vec::new();
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let Some(line) = line.strip_suffix('\n') else {
                break;
            };
            let earliest = moments.last().map_or(Duration::ZERO, |last| last.at);
            let moment = parse_timing_entry(line).filter(|moment| moment.at >= earliest);
            moments.push(moment.ok_or_else(|| TimingError {
                line: index + 1,
                text: line.chars().take(80).collect(),
            })?);
        }
        Ok(Self(moments))
    }

    /// How many bytes of a channel it accounts for.
    pub fn total(&self, channel: Channel) -> u64 {
        let of_channel = self.0.iter().filter(|moment| moment.channel == channel);
        of_channel.fold(0, |sum, moment| sum.saturating_add(moment.bytes))
    }
}

fn parse_timing_entry(line: &str) -> Option<TimingEntry> {
    let mut words = line.split(' ');
    let (ms, micros) = words.next()?.split_once('.')?;
    let micros: u64 = (micros.len() == 3).then(|| micros.parse().ok())??;
    let at = Duration::from_millis(ms.parse().ok()?) + Duration::from_micros(micros);
    let channel = match words.next()? {
        "in" => Channel::In,
        "out" => Channel::Out,
        "err" => Channel::Err,
        _ => return None,
    };
    let bytes = words.next()?.parse().ok()?;
    words
        .next()
        .is_none()
        .then_some(TimingEntry { at, channel, bytes })
}

/// The time of a moment, as events carry it.
pub fn time_of(started: Timestamp, since: Duration) -> Option<String> {
    let at = started.checked_add(since).ok()?;
    Some(format!("{at:.3}"))
}

/// Reads the moments of a recording one by one, also while it grows.
#[derive(Debug)]
pub struct TimingReader(Option<FollowedLines>);

impl TimingReader {
    /// Opens the file of a recording. Without one there are no moments.
    pub fn open(directory: &Path) -> io::Result<Self> {
        FollowedLines::open_if_there(&directory.join(TIMING)).map(Self)
    }

    /// The next moment. None if there is none yet. A line that makes no sense is skipped.
    pub fn next_moment(&mut self) -> io::Result<Option<TimingEntry>> {
        let Self(Some(lines)) = self else {
            return Ok(None);
        };
        while let Some(line) = lines.next_line(u64::MAX)? {
            if let Some(moment) = std::str::from_utf8(line).ok().and_then(parse_timing_entry) {
                return Ok(Some(moment));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_can_be_read_back() {
        let moments = vec![
            TimingEntry {
                at: Duration::ZERO,
                channel: Channel::In,
                bytes: 3,
            },
            TimingEntry {
                at: Duration::from_micros(1_002_003),
                channel: Channel::Out,
                bytes: 0,
            },
            TimingEntry {
                at: Duration::from_hours(25),
                channel: Channel::Err,
                bytes: u64::MAX,
            },
        ];
        let text: String = moments.iter().map(TimingEntry::to_string).collect();
        assert_eq!(text.lines().nth(1), Some("1002.003 out 0"));
        assert_eq!(Timing::read(&text), Ok(Timing(moments)));
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named() {
        for bad in [
            "",
            "1 out 3",
            "1.000 up 3",
            "1.000 out x",
            "1.000 out 3 4",
            "1.00 out 3",
            "0.001 out 1",
        ] {
            let text = format!("0.500 in 1\n{bad}\n");
            let error = Timing::read(&text).unwrap_err();
            assert_eq!((error.line, error.text.as_str()), (2, bad));
        }
    }

    #[test]
    fn a_line_cut_short_is_left_out() {
        assert_eq!(Timing::read("0.500 in 1\n0.600 ou").unwrap().0.len(), 1);
    }
}
