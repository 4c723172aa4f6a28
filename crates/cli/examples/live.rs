//! Plays a capture through the live view, for looking at it.
//!
//! `cargo run -p lapidary-cli --example live -- fixtures/gemini-0.61.0/tool-replace.stdout.jsonl [MILLISECONDS]`

/// The view belongs to the binary, so it is taken from there.
#[path = "../src"]
mod binary {
    #[expect(dead_code, reason = "playing needs less than running")]
    pub(crate) mod live;
}

use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use lapidary::normalize::gemini::stream::StreamNormalizer;
use lapidary::normalize::{Ending, Options};
use lapidary::render::live::Options as Look;
use lapidary::wire::lines::LineBuffer;

use binary::live;

/// How long a frame of the spinner lasts.
const FRAME: Duration = Duration::from_millis(125);

fn main() -> io::Result<()> {
    let mut args = env::args().skip(1);
    let path = args.next().ok_or(io::ErrorKind::InvalidInput)?;
    let pause = args.next().and_then(|millis| millis.parse().ok());
    let pause = Duration::from_millis(pause.unwrap_or(400));
    let started = Instant::now();
    let mut size = live::terminal::size();
    let look = Look {
        size,
        colour: env::var_os("NO_COLOR").is_none(),
        marks: live::terminal::marks(),
    };
    let mut view = live::LiveView::new(io::stdout(), look);
    for event in &events(&fs::read(path)?) {
        let next = Instant::now() + pause;
        while Instant::now() < next {
            if live::terminal::size() != size {
                size = live::terminal::size();
                view.resize(size)?;
            }
            view.tick(started.elapsed())?;
            thread::sleep(FRAME.min(next.saturating_duration_since(Instant::now())));
        }
        view.event(event)?;
    }
    view.finish()
}

fn events(bytes: &[u8]) -> Vec<lapidary::vocab::Event> {
    let mut lines = LineBuffer::default();
    lines.push(bytes);
    let mut normalizer = StreamNormalizer::new(&Options::new("live"));
    let mut events = Vec::new();
    while let Some(line) = lines.next_line() {
        normalizer.push(line, None, &mut events);
    }
    if let Some(line) = lines.last_line() {
        normalizer.push(line, None, &mut events);
    }
    let ending = Ending {
        exit_code: Some(0),
        signal: None,
    };
    normalizer.finish(&ending, &mut events);
    events
}
