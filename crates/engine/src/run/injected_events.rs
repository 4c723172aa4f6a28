//! Events of our own, each in its place between the lines of a conversation. Tasks inject them, the translation takes them out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use lapidary_vocab::event::{Diagnostic, DiagnosticKind};
use lapidary_vocab::{Body, Text};
use tokio::sync::mpsc;

/// How many notes wait for the reader. Further notes are only counted, and the count is reported at the end.
const MOST_NOTES: usize = 10_000;

/// Inserts events of our own.
#[derive(Debug, Clone)]
pub(crate) struct EventInjector {
    sender: mpsc::UnboundedSender<InjectedEvent>,
    counts: Arc<InjectionCounts>,
}

#[derive(Debug, Default)]
struct InjectionCounts {
    /// Notes that wait for the reader. An agent can be the reason for any number of them.
    waiting: AtomicUsize,
    left_out: AtomicUsize,
    /// How many lines there were so far.
    lines: AtomicU64,
}

/// The receiving end of an [`EventInjector`].
#[derive(Debug)]
pub(crate) struct InjectedEvents {
    receiver: mpsc::UnboundedReceiver<InjectedEvent>,
    counts: Arc<InjectionCounts>,
    /// Events that wait for their place, by the number of the line that they come before.
    held: BTreeMap<u64, Vec<InjectedEvent>>,
}

/// An event of our own.
#[derive(Debug)]
pub(crate) struct InjectedEvent {
    /// The number of the line that it comes after.
    after: Option<u64>,
    pub(crate) session: Option<Text>,
    pub(crate) body: Box<Body>,
}

impl EventInjector {
    pub(crate) fn new_channel() -> (Self, InjectedEvents) {
        let (sender, receiver) = mpsc::unbounded_channel(); // as many as there may be notes, and questions
        let counts = Arc::default();
        let injected = InjectedEvents {
            receiver,
            counts: Arc::clone(&counts),
            held: BTreeMap::new(),
        };
        (Self { sender, counts }, injected)
    }

    /// A line was received or sent.
    pub(crate) fn mark_seen(&self, number: u64) {
        self.counts.lines.fetch_max(number + 1, Ordering::Relaxed);
    }

    /// The number of the latest line: events of now come after it.
    pub(crate) fn latest_line(&self) -> Option<u64> {
        self.counts.lines.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Inserts a notice.
    pub(crate) fn inject_notice(&self, after: Option<u64>, message: impl Into<String>) {
        self.inject_diagnostic(after, DiagnosticKind::Notice, message.into());
    }

    pub(crate) fn inject_diagnostic(
        &self,
        after: Option<u64>,
        kind: DiagnosticKind,
        message: String,
    ) {
        if self.counts.waiting.fetch_add(1, Ordering::Relaxed) >= MOST_NOTES {
            self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            self.counts.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let note = Diagnostic {
            kind,
            message,
            count: None,
        };
        self.inject_body(after, None, Body::Diagnostic(note));
    }

    /// Inserts an event about a session, or about none. Without a translation there is no reader either: then it is dropped.
    pub(crate) fn inject_body(&self, after: Option<u64>, session: Option<Text>, body: Body) {
        let body = Box::new(body);
        let _ = self.sender.send(InjectedEvent {
            after,
            session,
            body,
        });
    }
}

impl InjectedEvents {
    /// Waits until an event is injected. Never ends once there is no injector. Cancel-safe.
    pub(crate) async fn wait(&mut self) {
        match self.receiver.recv().await {
            Some(event) => self.hold(event),
            None => std::future::pending().await,
        }
    }

    /// Takes the events whose place is before this line; all of them without a line.
    pub(crate) fn take_due(&mut self, line: Option<u64>) -> Vec<InjectedEvent> {
        while let Ok(event) = self.receiver.try_recv() {
            self.hold(event);
        }
        let mut due = Vec::new();
        while let Some(first) = self.held.first_entry()
            && line.is_none_or(|line| *first.key() <= line)
        {
            due.extend(first.remove());
        }
        let notes = due.iter().filter(|event| event.is_note()).count();
        self.counts.waiting.fetch_sub(notes, Ordering::Relaxed);
        due
    }

    /// How many notes were too many.
    pub(crate) fn left_out(&self) -> usize {
        self.counts.left_out.load(Ordering::Relaxed)
    }

    fn hold(&mut self, event: InjectedEvent) {
        let before = event.after.map_or(0, |after| after.saturating_add(1));
        self.held.entry(before).or_default().push(event);
    }
}

impl InjectedEvent {
    fn is_note(&self) -> bool {
        matches!(*self.body, Body::Diagnostic(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(events: Vec<InjectedEvent>) -> Vec<String> {
        let notes = events.into_iter().map(|event| match *event.body {
            Body::Diagnostic(note) => note.message,
            body => panic!("{body:?} is no note"),
        });
        notes.collect()
    }

    #[test]
    fn an_injected_event_waits_for_the_line_that_it_comes_after() {
        let (say, mut injected) = EventInjector::new_channel();
        say.mark_seen(4);
        say.inject_notice(say.latest_line(), "after 4");
        say.inject_notice(Some(2), "after 2");
        say.inject_notice(None, "at once");
        assert_eq!(notes(injected.take_due(Some(0))), ["at once"]);
        assert_eq!(notes(injected.take_due(Some(4))), ["after 2"]);
        say.inject_notice(Some(u64::MAX), "last");
        assert_eq!(notes(injected.take_due(Some(5))), ["after 4"]);
        assert_eq!(notes(injected.take_due(None)), ["last"]);
    }

    #[test]
    fn notes_beyond_the_limit_are_counted_until_the_reader_has_taken_some() {
        let (say, mut injected) = EventInjector::new_channel();
        for _ in 0..MOST_NOTES + 2 {
            say.inject_notice(None, "again");
        }
        assert_eq!(injected.left_out(), 2);
        assert_eq!(injected.take_due(None).len(), MOST_NOTES);
        say.inject_notice(None, "again");
        assert_eq!((injected.left_out(), injected.take_due(None).len()), (2, 1));
    }
}
