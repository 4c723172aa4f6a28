//! The terminal: taken when the browser starts, given back on every way out.
#![expect(
    clippy::disallowed_methods,
    reason = "a screen of its own is drawn on the terminal of the process, whose modes `crossterm` changes"
)]

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
    self, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::canvas::{CellTerminal, Rect};
use super::keys::BrowseKey;
use super::state::{BrowserInput, BrowserState};
use super::view;
use crate::system;

/// How often the keyboard thread checks whether it must stop.
const LOOK: Duration = Duration::from_millis(100);

/// The terminal is ours: raw, on its other screen.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// A terminal that is drawn on. Dropping it gives the terminal back.
pub(super) struct BrowserScreen {
    terminal: CellTerminal<BufWriter<Stdout>>,
}

impl BrowserScreen {
    pub(super) fn take_screen() -> io::Result<Self> {
        give_back_in_panic();
        let taken = take_terminal().and_then(|()| empty_terminal());
        match taken {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Gives the terminal to the shell until that lets us go on; returns its size then.
    pub(super) fn suspend(&mut self) -> io::Result<Rect> {
        give_back();
        system::stop_job();
        take_terminal()?;
        // A new one knows that the screen is empty now.
        self.terminal = empty_terminal()?;
        screen_area()
    }

    pub(super) fn draw_state(&mut self, state: &BrowserState) -> io::Result<()> {
        self.terminal
            .draw_canvas(screen_area()?, |canvas| view::draw_state(state, canvas))
    }
}

impl Drop for BrowserScreen {
    fn drop(&mut self) {
        give_back();
        if !thread::panicking() {
            drop(panic::take_hook());
        }
    }
}

fn empty_terminal() -> io::Result<CellTerminal<BufWriter<Stdout>>> {
    let out = BufWriter::with_capacity(64 * 1024, io::stdout());
    Ok(CellTerminal::new(out, screen_area()?))
}

/// The whole terminal.
pub(super) fn screen_area() -> io::Result<Rect> {
    let (width, height) = terminal::size()?;
    Ok(Rect::new(0, 0, width, height))
}

/// Makes the terminal ours.
fn take_terminal() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        Hide
    )
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

/// The keyboard as a source of inputs.
pub(super) struct Keyboard {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Keyboard {
    pub(super) fn listen_for_keys(inputs: Sender<BrowserInput>) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let stop = is_over.clone();
        let builder = thread::Builder::new().name("lapidary-keyboard".to_owned());
        let thread = builder.spawn(move || {
            let mut known = None;
            while !stop.load(Ordering::Relaxed) {
                let heard = match next() {
                    Ok(None) => match changed_size(&mut known) {
                        Some(input) => inputs.send(input),
                        None => continue,
                    },
                    Ok(Some(input)) => inputs.send(input),
                    Err(_) => inputs.send(BrowserInput::Terminated),
                };
                if heard.is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { is_over, thread })
    }

    /// Takes no more keys: they belong to the next program. A closed terminal may block the thread; it is not waited for.
    pub(super) fn stop(self) {
        self.is_over.store(true, Ordering::Relaxed);
        let last = Instant::now() + 5 * LOOK;
        while !self.thread.is_finished() && Instant::now() < last {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The next input, if one comes soon.
fn next() -> io::Result<Option<BrowserInput>> {
    match event::poll(LOOK) {
        Ok(true) => Ok(browser_input(event::read()?)),
        Ok(false) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
    }
}

/// The size, if it has changed. No event reports a change before we listen.
fn changed_size(known: &mut Option<(u16, u16)>) -> Option<BrowserInput> {
    let size = terminal::size().ok()?;
    let was = known.replace(size);
    (was != Some(size)).then(|| BrowserInput::Resize(Rect::new(0, 0, size.0, size.1)))
}

fn browser_input(event: Event) -> Option<BrowserInput> {
    match event {
        Event::Key(key) => BrowseKey::from_event(key).map(BrowserInput::Key),
        Event::Paste(text) => Some(BrowserInput::Paste(text)),
        Event::Resize(width, height) => Some(BrowserInput::Resize(Rect::new(0, 0, width, height))),
        _ => None,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const ASKED: &str = "LAPIDARY_TEST_PANIC";

    const ON_A_TERMINAL: &str = r#"
import os, pty, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b""
while True:
    try:
        more = os.read(terminal, 65536)
    except OSError:
        break
    if not more:
        break
    shown += more
os.waitpid(pid, 0)
flags = termios.tcgetattr(terminal)[3]
os.write(1, shown)
os.write(1, b"COOKED" if flags & termios.ICANON and flags & termios.ECHO else b"RAW")
"#;

    /// Runs itself once more, on a terminal, and panics there.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts programs")]
    fn a_panic_gives_the_terminal_back_before_it_speaks() {
        if std::env::var_os(ASKED).is_some() {
            let browser = thread::Builder::new().name("main".to_owned()).spawn(|| {
                let _screen = BrowserScreen::take_screen().unwrap();
                panic!("something is wrong");
            });
            assert!(browser.unwrap().join().is_err());
            return;
        }
        let name = thread::current().name().unwrap().to_owned();
        let ran = std::process::Command::new("python3")
            .args(["-c", ON_A_TERMINAL])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", &name, "--nocapture"])
            .env(ASKED, "1")
            .env("TERM", "xterm-256color")
            .output()
            .unwrap();
        let shown = String::from_utf8(ran.stdout).unwrap();
        let at = |what: &str| {
            shown
                .find(what)
                .unwrap_or_else(|| panic!("{what:?}: {shown:?}"))
        };
        assert!(at("\u{1b}[?1049h") < at("\u{1b}[?1049l"), "{shown:?}");
        assert!(at("\u{1b}[?1049l") < at("something is wrong"), "{shown:?}");
        assert!(at("\u{1b}[?25h") < at("something is wrong"), "{shown:?}");
        assert!(shown.ends_with("COOKED"), "{shown:?}");
    }
}
