//! The client that talks to the replay: what it says, as it says it.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use lapidary_wire::lines::{Line, LineBuffer};

use crate::replay::message::Said;
use crate::system::wait_for_input;

/// How many lines may lie there unheard. More wait in the client's pipe.
const LINES: usize = 256;

/// Listens until the client hangs up, which ends the channel. Nobody waits for the thread: a read cannot be interrupted.
pub(super) fn listen(input: File) -> io::Result<Receiver<Said>> {
    let (sender, heard) = sync_channel(LINES);
    let name = "lapidary-client".to_owned();
    let body = move || {
        hear(input, &sender);
    };
    thread::Builder::new().name(name).spawn(body)?;
    Ok(heard)
}

/// None once nobody listens any more.
fn hear(mut input: File, sender: &SyncSender<Said>) -> Option<()> {
    let mut lines = LineBuffer::default();
    loop {
        match input.read(lines.room()) {
            Ok(0) => break,
            Ok(count) => lines.filled(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for_input(&input),
            Err(_) => break, // a closed or broken input is one that has ended
        }
        while let Some(line) = lines.next_line() {
            sender.send(understand(line)).ok()?;
        }
    }
    let last = lines.last_line()?;
    sender.send(understand(last)).ok()
}

fn understand(line: Line<'_>) -> Said {
    match line {
        Line::Whole(line) => Said::read(line),
        Line::TooLong { .. } => Said::Noise,
    }
}
