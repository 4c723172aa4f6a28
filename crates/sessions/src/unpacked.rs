//! Compressed session files, unpacked while they are read. Codex CLI compresses a rollout after a week (`.jsonl.zst`).
//!
//! A small file may unpack to any size. So there is a limit, at which reading ends with an error.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The first bytes of a frame of zstd.
const FRAME_MARK: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A file may unpack to this size in any case.
const ALWAYS_ALLOWED: u64 = 64 << 20;

/// Beyond that, a file may unpack to so many times its size. Rollouts that repeat their whole history reach a hundred.
const MOST_TIMES: u64 = 1000;

/// The largest unpacked file.
const LARGEST: u64 = 16 << 30;

/// The largest window of a frame, which has to be held in memory. Codex CLI's have 2 MiB.
const LARGEST_WINDOW: u64 = 32 << 20;

/// An empty last block and a checksum, which is not compared. The decoder keeps as much as a window for later blocks, and hands it
/// out at the end of a frame: a damaged frame ends so.
const END_OF_FRAME: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Whether a file that begins so is compressed.
pub(crate) fn is_compressed(start: &[u8]) -> bool {
    start.starts_with(&FRAME_MARK)
}

/// The content of a file from its beginning: as it is, or unpacked.
pub fn unpacked(mut file: File) -> io::Result<Box<dyn Read>> {
    file.rewind()?;
    let mut mark = [0; FRAME_MARK.len()];
    let mut length = 0;
    while length < mark.len() {
        match file.read(&mut mark[length..])? {
            0 => break,
            count => length += count,
        }
    }
    file.rewind()?;
    if mark != FRAME_MARK {
        return Ok(Box::new(file));
    }
    let size = file.metadata()?.len();
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(LARGEST_WINDOW);
    Ok(Box::new(UnpackedReader {
        source: BufReader::new(file),
        decoder,
        is_in_frame: false,
        failure: None,
        unpacked: 0,
        limit: size
            .saturating_mul(MOST_TIMES)
            .clamp(ALWAYS_ALLOWED, LARGEST),
    }))
}

/// Reads frame after frame.
struct UnpackedReader {
    source: BufReader<File>,
    decoder: FrameDecoder,
    is_in_frame: bool,
    /// Why the frame cannot be read on, until the bytes before that are handed out.
    failure: Option<io::Error>,
    unpacked: u64,
    limit: u64,
}

impl UnpackedReader {
    /// Opens the next frame. False at the end of the file.
    fn open_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => skip(&mut self.source, u64::from(length))?,
                Err(error) => return Err(damaged(&error)),
            }
        }
        Ok(false)
    }

    /// Reads on in the frame. 0 is its end.
    fn read_frame(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            let one = BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = self.decoder.decode_blocks(&mut self.source, one) {
                self.failure = Some(damaged(&error));
                let all = BlockDecodingStrategy::All;
                let ended = self.decoder.decode_blocks(&END_OF_FRAME[..], all);
                ended.map_err(|error| damaged(&error))?;
            }
        }
        match (self.decoder.read(room)?, self.failure.take()) {
            (0, Some(failure)) => Err(failure),
            (count, failure) => {
                self.failure = failure;
                Ok(count)
            }
        }
    }

    fn too_large(&self) -> io::Error {
        let limit = self.limit >> 20;
        io::Error::other(format!("it unpacks to more than {limit} MiB"))
    }
}

impl Read for UnpackedReader {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_in_frame {
                self.is_in_frame = self.open_frame()?;
                if !self.is_in_frame {
                    return Ok(0);
                }
            }
            let count = self.read_frame(room)?;
            self.unpacked += count as u64;
            if self.unpacked > self.limit {
                return Err(self.too_large());
            }
            if count > 0 {
                return Ok(count);
            }
            self.is_in_frame = false;
        }
    }
}

fn skip(source: &mut BufReader<File>, length: u64) -> io::Result<()> {
    io::copy(&mut source.take(length), &mut io::sink()).map(|_| ())
}

/// The error of a frame. The decoder's own errors name its steps, which tell a user nothing.
fn damaged(error: &FrameDecoderError) -> io::Error {
    let sentence = match error {
        FrameDecoderError::WindowSizeTooBig { requested, .. } => format!(
            "it is packed with a window of {} MiB, and at most {} MiB are allowed",
            requested >> 20,
            LARGEST_WINDOW >> 20
        ),
        _ => "it is damaged or cut off".to_owned(),
    };
    io::Error::new(io::ErrorKind::InvalidData, sentence)
}
