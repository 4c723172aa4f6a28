//! The input of `translate`, and the detection of its format.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use lapidary::sessions::unpacked;
use lapidary::wire::lines::{LineBuffer, RawLine, without_mark};
use lapidary::wire::opencode::DATABASE_MARK;

use super::progress::ReadProgress;
use super::source::{self, InputSource, LineGuess};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// How much is read at once until the format is known.
const CHUNK: usize = 64 * 1024;

/// How much noise may come before the first line of a known format. The limit bounds our memory.
const MOST_NOISE: usize = 16 * 1024 * 1024;

/// How large a document may be, which has to be held whole.
const MOST_WHOLE: usize = 4 << 30;

/// A file or stdin. The bytes that were read to detect the format are read again for the translation.
pub(super) struct TranslateInput {
    name: String,
    reader: Box<dyn Read>,
    /// Bytes that were read but not handed on.
    head: Vec<u8>,
    ended: bool,
    /// Lines of a live stream that say no time of their own get the time they came.
    is_live: bool,
    progress: ReadProgress,
}

impl TranslateInput {
    pub(super) fn open(path: Option<&Path>, invocation: &Arc<Invocation>) -> Result<Self, Failure> {
        match path {
            Some(path) if path.as_os_str() != "-" => Self::open_file(path, invocation),
            _ => Ok(Self::open_stdin(invocation)),
        }
    }

    pub(super) fn open_file(path: &Path, invocation: &Arc<Invocation>) -> Result<Self, Failure> {
        let name = display_path(path);
        let file = File::open(path)
            .with_context(|| format!("cannot read `{name}`"))
            .map_err(Failure::bad_input)?;
        let metadata = file
            .metadata()
            .with_context(|| format!("cannot read `{name}`"))
            .map_err(Failure::bad_input)?;
        if metadata.is_dir() {
            let failure = Failure::bad_input(anyhow!("`{name}` is a directory"));
            return Err(failure.with_hint("name a file in it"));
        }
        let size = metadata.is_file().then_some(metadata.len());
        let reader = if metadata.is_file() {
            let unpacked = unpacked(file).with_context(|| format!("cannot read `{name}`"));
            unpacked.map_err(Failure::bad_input)?
        } else {
            Box::new(file)
        };
        Ok(Self {
            reader,
            head: Vec::new(),
            ended: false,
            is_live: false,
            progress: ReadProgress::new(size, invocation),
            name,
        })
    }

    fn open_stdin(invocation: &Arc<Invocation>) -> Self {
        if invocation.is_stdin_terminal() {
            invocation
                .print_message("note: reading from the terminal; end with Ctrl-D, or name a file");
        }
        let (reader, file_size) = stdin_reader(invocation);
        Self {
            name: "stdin".to_owned(),
            reader,
            head: Vec::new(),
            ended: false,
            is_live: file_size.is_none(),
            progress: ReadProgress::new(file_size, invocation),
        }
    }

    pub(super) fn input_name(&self) -> &str {
        &self.name
    }

    /// The format that it has.
    pub(super) fn detect_format(&mut self, limit: usize) -> Result<InputSource, Failure> {
        match self.recognise_format(limit)? {
            Some(format) => Ok(format),
            None if self.is_blank() => {
                let failure = Failure::bad_input(anyhow!("`{}` is empty", self.name));
                Err(failure.with_hint(
                    "if that is all the agent printed, --from stream-json translates it: a run without a result",
                ))
            }
            None => Err(self.unknown_format_failure()),
        }
    }

    /// Reads until a line shows the format, if it has one. The first line of a known format identifies a stream, so no line of a
    /// stream is delayed; a document has to be read to its end.
    pub(super) fn recognise_format(
        &mut self,
        limit: usize,
    ) -> Result<Option<InputSource>, Failure> {
        self.read_more()?;
        if self.is_database() {
            return Ok(Some(InputSource::OpencodeSession));
        }
        let mut looked_at = 0;
        let mut searched = 0;
        let mut may_be_document = false;
        loop {
            while let Some(offset) = memchr::memchr(b'\n', &self.head[searched..]) {
                let newline = searched + offset;
                let line = without_mark(&self.head[looked_at..newline]);
                match LineGuess::new(&String::from_utf8_lossy(line)) {
                    // A line inside a document may look like a line of any format; only a line of a stream cannot be part of a
                    // document.
                    LineGuess::Is(source) if !may_be_document || source.is_stream() => {
                        return Ok(Some(source));
                    }
                    LineGuess::Is(_) | LineGuess::Nothing => {}
                    LineGuess::MayBeDocument => may_be_document = true,
                }
                looked_at = newline + 1;
                searched = looked_at;
            }
            if looked_at > MOST_NOISE && !may_be_document {
                return Ok(None);
            }
            searched = self.head.len();
            let is_overlong = self.head.len() - looked_at > limit.saturating_add(CHUNK);
            if is_overlong || !self.read_more()? {
                return self.detect_document();
            }
        }
    }

    /// Whether it begins like a database of SQLite, as far as it was read.
    pub(super) fn is_database(&self) -> bool {
        self.head.starts_with(DATABASE_MARK)
    }

    fn detect_document(&mut self) -> Result<Option<InputSource>, Failure> {
        while self.read_more()? {}
        let text = String::from_utf8_lossy(without_mark(&self.head));
        Ok(source::of_document(&text))
    }

    fn is_blank(&self) -> bool {
        without_mark(&self.head).trim_ascii().is_empty()
    }

    fn unknown_format_failure(&self) -> Failure {
        let failure = Failure::bad_input(anyhow!(
            "`{}` has a format that Lapidary does not know",
            self.name
        ));
        failure.with_hint("it reads the output of `gemini -o stream-json`, `gemini -o json`, `claude -p --output-format stream-json` and `codex exec --json`, session files of Gemini CLI, Claude Code, Codex CLI, Qwen Code and opencode, transcripts of ACP, and events of `lapidary`; --from skips the check")
    }

    /// Reads on into `head`. Not behind the end: on a terminal that would take a second Ctrl-D.
    fn read_more(&mut self) -> Result<bool, Failure> {
        if self.ended {
            return Ok(false);
        }
        let before = self.head.len();
        self.head.resize(before + CHUNK, 0);
        let read = read_some(&mut self.reader, &mut self.head[before..]);
        let count = *read.as_ref().unwrap_or(&0);
        self.head.truncate(before + count);
        read.with_context(|| format!("cannot read `{}`", self.name))
            .map_err(Failure::bad_input)?;
        self.progress.advance(count);
        self.ended |= count == 0;
        if self.head.len() > MOST_WHOLE {
            let error = anyhow!("`{}` goes on behind {} GiB", self.name, MOST_WHOLE >> 30);
            let failure = Failure::bad_input(error);
            return Err(failure.with_hint(
                "a document has to be read whole; --from stream-json reads a stream of any length",
            ));
        }
        Ok(count > 0)
    }

    /// A line buffer that begins with the bytes that were read already.
    pub(super) fn line_buffer(&mut self, limit: usize) -> LineBuffer {
        LineBuffer::holding(std::mem::take(&mut self.head), limit)
    }

    /// Reads on. 0 is the end.
    pub(super) fn read_bytes(&mut self, room: &mut [u8]) -> Result<usize, Failure> {
        if self.ended {
            return Ok(0);
        }
        let count = read_some(&mut self.reader, room)
            .with_context(|| format!("cannot read `{}`", self.name))
            .map_err(Failure::bad_input)?;
        self.progress.advance(count);
        self.ended = count == 0;
        Ok(count)
    }

    /// Hands on each line from here on.
    pub(super) fn each_line(
        mut self,
        limit: usize,
        take: &mut dyn FnMut(RawLine<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut lines = self.line_buffer(limit);
        loop {
            while let Some(line) = lines.next_line() {
                take(line)?;
            }
            let count = self.read_bytes(lines.room())?;
            if count == 0 {
                break;
            }
            lines.filled(count);
        }
        lines.last_line().map_or(Ok(()), take)
    }

    pub(super) fn read_all(&mut self) -> Result<Vec<u8>, Failure> {
        while self.read_more()? {}
        Ok(std::mem::take(&mut self.head))
    }

    pub(super) fn copy_to(&mut self, out: &mut Printer) -> Result<(), Failure> {
        let mut out = out.foreign_bytes();
        out.write_all(&std::mem::take(&mut self.head))?;
        let mut buffer = vec![0; CHUNK];
        loop {
            out.flush()?;
            let count = self.read_bytes(&mut buffer)?;
            if count == 0 {
                return Ok(out.finish()?);
            }
            out.write_all(&buffer[..count])?;
        }
    }

    /// The time, for lines that arrive now.
    pub(super) fn arrival_time(&self) -> Option<String> {
        self.is_live
            .then(|| format!("{:.3}", jiff::Timestamp::now()))
    }
}

/// Stdin, and its size if it is a file: then its lines do not arrive now, they did long ago.
fn stdin_reader(invocation: &Invocation) -> (Box<dyn Read>, Option<u64>) {
    let Ok(file) = invocation.stdin_file() else {
        return (invocation.stdin_reader(), None);
    };
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file);
    (Box::new(file), metadata.map(|metadata| metadata.len()))
}

fn read_some(reader: &mut dyn Read, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// A file's name for a message: one line, and nothing in it that a terminal would obey.
pub(super) fn display_path(path: &Path) -> String {
    let mut name = String::new();
    for c in path.to_string_lossy().chars() {
        if c.is_control() {
            name.extend(c.escape_debug());
        } else {
            name.push(c);
        }
    }
    name
}
