//! Passing input on: recorded before it is handed over, so that no answer is noted before its question.

use std::fs::File;
use std::io::{self, PipeWriter, Read as _, Write as _};
use std::thread;

use super::tape::SharedTape;
use crate::Channel;
use crate::follow::CHUNK;
use lapidary_process::platform::wait_for_input;

/// Passes `input` on to `feed` on a thread of its own, which is never joined: it may be blocked on an input without an end, and
/// such a read cannot be interrupted. When the input ends, so does the feed.
pub(super) fn pass_on(
    mut input: File,
    mut copy: File,
    mut feed: PipeWriter,
    tape: SharedTape,
) -> io::Result<()> {
    let body = move || {
        let mut chunk = vec![0; CHUNK];
        loop {
            let bytes = match input.read(&mut chunk) {
                Ok(0) => return tape.hung_up(),
                Ok(count) => &chunk[..count],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // The input is non-blocking: its other owner has set it so.
                    wait_for_input(&input);
                    continue;
                }
                Err(_) => return, // a closed or broken input is one that has ended
            };
            if let Err(error) = copy.write_all(bytes) {
                return tape.note_error(&error);
            }
            tape.note_growth(Channel::In, bytes.len() as u64);
            if feed.write_all(bytes).is_err() {
                return; // the program does not listen any more
            }
        }
    };
    let name = "lapidary-input".to_owned();
    thread::Builder::new().name(name).spawn(body).map(drop)
}
