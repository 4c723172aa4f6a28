//! The terminal: taken when the browser starts, given back on every way out.

use std::io::{self, BufWriter, Stdout, Write as _};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;

use super::keys::Key;
use super::state::{Input, State};
use super::view;

/// So often the keyboard looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);

/// The terminal is ours: raw, on its other screen.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// A terminal that is drawn on. Dropping it gives the terminal back.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    pub(super) fn take() -> io::Result<Self> {
        let backend = CrosstermBackend::new(BufWriter::with_capacity(64 * 1024, io::stdout()));
        give_back_in_panic();
        TAKEN.store(true, Ordering::SeqCst);
        let taken = enable_raw_mode().and_then(|()| {
            execute!(
                io::stdout(),
                EnterAlternateScreen,
                EnableBracketedPaste,
                Hide
            )?;
            Terminal::new(backend)
        });
        match taken {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    pub(super) fn area(&self) -> io::Result<Rect> {
        let size = self.terminal.size()?;
        Ok(Rect::new(0, 0, size.width, size.height))
    }

    pub(super) fn draw(&mut self, state: &State) -> io::Result<()> {
        self.terminal.draw(|frame| {
            let cursor = view::draw(state, frame.buffer_mut());
            if let Some(cursor) = cursor {
                frame.set_cursor_position(cursor);
            }
        })?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
        if !thread::panicking() {
            drop(panic::take_hook());
        }
    }
}

/// Leaves the terminal as it was, once.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // There is nothing to be done if it is gone.
    let mut out = io::stdout();
    let _ = execute!(out, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}

/// A message of a panic is to be read where it stands. One of a worker's is caught there, and nothing to draw over the screen.
fn give_back_in_panic() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |what| {
        if thread::current().name() == Some("main") {
            give_back();
            before(what);
        }
    }));
}

/// What is typed, as inputs.
pub(super) struct Keyboard {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Keyboard {
    pub(super) fn listen(inputs: Sender<Input>) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let stop = is_over.clone();
        let builder = thread::Builder::new().name("lapidary-keyboard".to_owned());
        let thread = builder.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let heard = match next() {
                    Ok(None) => continue,
                    Ok(Some(input)) => inputs.send(input),
                    Err(_) => inputs.send(Input::Terminated),
                };
                if heard.is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { is_over, thread })
    }

    /// Takes no more keys: they belong to whatever comes next. A terminal that is gone may keep the thread; it is not waited for.
    pub(super) fn stop(self) {
        self.is_over.store(true, Ordering::Relaxed);
        let last = Instant::now() + 5 * LOOK;
        while !self.thread.is_finished() && Instant::now() < last {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The next input, if one comes soon.
fn next() -> io::Result<Option<Input>> {
    match event::poll(LOOK) {
        Ok(true) => Ok(input(event::read()?)),
        Ok(false) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
    }
}

fn input(event: Event) -> Option<Input> {
    match event {
        Event::Key(key) => Key::of(key).map(Input::Key),
        Event::Paste(text) => Some(Input::Paste(text)),
        Event::Resize(width, height) => Some(Input::Resize(Rect::new(0, 0, width, height))),
        _ => None,
    }
}
