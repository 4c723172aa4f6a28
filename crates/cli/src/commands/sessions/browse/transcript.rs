//! A session file as lines to scroll through, cut to a limit.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;

use lapidary::normalize::gemini::session_events;
use lapidary::normalize::{NormalizeOptions, RecordOrder};
use lapidary::render::Renderer;
use lapidary::render::live::MarkSet;
use lapidary::render::text::{self, TextRenderer};
use lapidary::sessions::OtherSession;
use lapidary::vocab::Event;
use lapidary::wire::gemini::session::ReplayedLog;

use super::state::TranscriptExtent;
use super::text::harmless_lines;

/// How much of a file is read, and how much of its text is shown.
struct TranscriptLimits {
    /// A file of at most this size is read whole.
    whole: u64,
    /// How much of each end of a larger file is read.
    ends: u64,
    /// How much text of each end is kept.
    text: usize,
}

const PREVIEW: TranscriptLimits = TranscriptLimits {
    whole: 4 << 20,
    ends: 512 << 10,
    text: 64 << 10,
};
const WHOLE: TranscriptLimits = TranscriptLimits {
    whole: 256 << 20,
    ends: 32 << 20,
    text: 2 << 20,
};

impl TranscriptExtent {
    fn transcript_limits(self) -> TranscriptLimits {
        match self {
            Self::Preview => PREVIEW,
            Self::Whole => WHOLE,
        }
    }
}

/// The lines of a session, harmless; or why there are none. Gives up when it is not wanted any more.
pub(super) fn read_transcript(
    path: &Path,
    extent: TranscriptExtent,
    marks: MarkSet,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Vec<String>, String> {
    let limits = extent.transcript_limits();
    let (bytes, left_out) =
        read_bounded(path, &limits).map_err(|error| format!("it cannot be read: {error}"))?;
    if !is_wanted() {
        return Ok(Vec::new());
    }
    let log = ReplayedLog::read(&bytes);
    if log.is_empty() && left_out > 0 {
        return Err(format!(
            "it is too large to be shown here: {}",
            size_text(bytes.len() as u64 + left_out)
        ));
    }
    let mut out = TextEnds::new(limits.text);
    let options = normalize_options();
    let events = |take: &mut dyn FnMut(Event)| session_events::events(&log, &options, take);
    render_events(events, &mut out, is_wanted).map_err(|error| error.to_string())?;
    let mut shown = Vec::new();
    if left_out > 0 {
        let whole = size_text(bytes.len() as u64 + left_out);
        let note = format!(
            "(the middle of its {whole} is skipped: `lapidary sessions show` has all of it)"
        );
        shown.extend([note, String::new()]);
    }
    shown.extend(out.into_lines(extent, marks));
    Ok(shown)
}

/// The same of a session of another provider.
pub(super) fn replay_transcript(
    session: &OtherSession<'_>,
    extent: TranscriptExtent,
    marks: MarkSet,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Vec<String>, String> {
    let mut out = TextEnds::new(extent.transcript_limits().text);
    let mut replayed = Ok(());
    let events = |take: &mut dyn FnMut(Event)| replayed = session.replay(take);
    let written = render_events(events, &mut out, is_wanted);
    replayed.map_err(|error| format!("{error}: {}", error.source))?;
    written.map_err(|error| error.to_string())?;
    Ok(out.into_lines(extent, marks))
}

/// A file, or its beginning and its end; and how much is missing between them.
fn read_bounded(path: &Path, limits: &TranscriptLimits) -> io::Result<(Vec<u8>, u64)> {
    let mut file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    if about.len() <= limits.whole {
        // It may grow while it is read.
        file.take(limits.whole).read_to_end(&mut bytes)?;
        return Ok((bytes, 0));
    }
    (&file).take(limits.ends).read_to_end(&mut bytes)?;
    let whole_lines = bytes.iter().rposition(|byte| *byte == b'\n');
    bytes.truncate(whole_lines.map_or(0, |at| at + 1));
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(about.len() - limits.ends))?;
    file.take(limits.ends).read_to_end(&mut end)?;
    let from = end.iter().position(|byte| *byte == b'\n');
    bytes.extend_from_slice(from.map_or(&[][..], |at| &end[at + 1..]));
    let left_out = about.len().saturating_sub(bytes.len() as u64);
    Ok((bytes, left_out))
}

fn normalize_options() -> NormalizeOptions {
    let mut options = NormalizeOptions::new("browse");
    options.keep_raw = false;
    options.record_order = RecordOrder::Reading;
    options
}

fn render_events(
    events: impl FnOnce(&mut dyn FnMut(Event)),
    out: &mut TextEnds,
    is_wanted: &dyn Fn() -> bool,
) -> io::Result<()> {
    let mut renderer = TextRenderer::new(text::TextOptions { colour: false });
    let mut written = Ok(());
    events(&mut |event| {
        if written.is_ok() && is_wanted() {
            written = renderer.event(&event, out);
        }
    });
    written?;
    renderer.finish(out)
}

/// Keeps the beginning and the end of a text.
struct TextEnds {
    most: usize,
    start: Vec<u8>,
    end: VecDeque<u8>,
    left_out: u64,
}

impl TextEnds {
    fn new(most: usize) -> Self {
        Self {
            most,
            start: Vec::new(),
            end: VecDeque::new(),
            left_out: 0,
        }
    }

    fn into_lines(mut self, extent: TranscriptExtent, marks: MarkSet) -> Vec<String> {
        let mut all = std::mem::take(&mut self.start);
        if self.left_out > 0 {
            let note = format!("\n\n… {} skipped here …\n\n", size_text(self.left_out));
            all.extend_from_slice(note.as_bytes());
        }
        all.extend(self.end);
        let mut lines = harmless_lines(&String::from_utf8_lossy(&all), marks);
        // A preview stands under the id already.
        let is_known = |line: &String| line.starts_with("session  ");
        if extent == TranscriptExtent::Preview && lines.first().is_some_and(is_known) {
            lines.remove(0);
        }
        lines
    }
}

impl Write for TextEnds {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.most - self.start.len().min(self.most);
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.start.extend_from_slice(first);
        self.end.extend(rest);
        let gone = self.end.len().saturating_sub(self.most);
        self.end.drain(..gone);
        self.left_out += gone as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A size in words.
pub(super) fn size_text(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} bytes"),
        1000..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{} MB", bytes.div_ceil(1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: usize) -> String {
        format!(
            r#"{{"id":"m{number}","timestamp":"2026-11-15T18:15:00.000Z","type":"user","content":"message {number} {}"}}"#,
            "x".repeat(1000)
        )
    }

    fn session(count: usize) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(
            file,
            r#"{{"sessionId":"s","projectHash":"p","startTime":"2026-11-15T18:15:00.000Z"}}"#
        )
        .unwrap();
        for number in 0..count {
            writeln!(file, "{}", message(number)).unwrap();
        }
        file
    }

    #[test]
    fn a_huge_session_is_seen_from_both_ends_and_says_so() {
        let file = session(6000);
        let shown = read_transcript(
            file.path(),
            TranscriptExtent::Preview,
            MarkSet::Unicode,
            &|| true,
        )
        .unwrap();
        let text = shown.join("\n");
        assert!(
            text.starts_with("(the middle of its 7 MB is skipped"),
            "{}",
            &text[..100]
        );
        assert!(text.contains("message 0 ") && text.contains("message 5999 "));
        assert!(text.contains("skipped here"));
        assert!(text.len() < 4 * PREVIEW.text, "{}", text.len());
        let whole = read_transcript(
            file.path(),
            TranscriptExtent::Whole,
            MarkSet::Unicode,
            &|| true,
        )
        .unwrap();
        assert!(whole.len() > shown.len());
    }

    #[test]
    fn a_cancelled_transcript_read_renders_nothing() {
        let file = session(100);
        let shown = read_transcript(
            file.path(),
            TranscriptExtent::Preview,
            MarkSet::Unicode,
            &|| false,
        )
        .unwrap();
        assert!(shown.is_empty());
    }

    #[test]
    fn an_unreadable_transcript_names_the_reason() {
        let directory = tempfile::TempDir::new().unwrap();
        let read = |path: &Path| {
            read_transcript(path, TranscriptExtent::Preview, MarkSet::Unicode, &|| true)
        };
        assert!(
            read(directory.path())
                .unwrap_err()
                .contains("it is not a file")
        );
        assert!(read(&directory.path().join("none")).is_err());
        let document = directory.path().join("document.json");
        let text = format!(
            r#"{{"sessionId":"s","messages":["{}"]}}"#,
            "x".repeat(5 << 20)
        );
        std::fs::write(&document, text).unwrap();
        assert!(
            read(&document)
                .unwrap_err()
                .contains("too large to be shown here: 6 MB")
        );
    }
}
