//! Giving each event its place in the run.

use std::fmt::Write as _;
use std::sync::Arc;

use lapidary_vocab::event::{Diagnostic, DiagnosticKind, Provider, SCHEMA};
use lapidary_vocab::{Base, Body, Event, Text};

use crate::raw::Raw;
use crate::{Events, Options};

/// Counts events and knows what they all carry.
#[derive(Debug)]
pub(crate) struct Stamp {
    run: Arc<str>,
    seq: u64,
    provider: Provider,
    pub(crate) keep_raw: bool,
    pub(crate) session_id: Option<Text>,
    pub(crate) timestamp: Option<Text>,
}

impl Stamp {
    pub(crate) fn new(options: &Options, provider: Provider) -> Self {
        Self {
            run: Arc::clone(&options.run),
            seq: 0,
            provider,
            keep_raw: options.keep_raw,
            session_id: None,
            timestamp: None,
        }
    }

    /// The next event. It takes the raw line, if there is one left: only a line's first event carries it.
    pub(crate) fn event(&mut self, body: Body, raw: &mut Option<Raw>) -> Event {
        let mut base = self.base();
        let always = matches!(body, Body::Diagnostic(_));
        if (self.keep_raw || always)
            && let Some(raw) = raw.take()
        {
            raw.put_into(&mut base);
        }
        Event { body, base }
    }

    pub(crate) fn diagnostic(
        &mut self,
        kind: DiagnosticKind,
        message: String,
        raw: &mut Option<Raw>,
        out: &mut Events,
    ) {
        let body = Diagnostic {
            kind,
            message,
            count: None,
        };
        out.push(self.event(Body::Diagnostic(body), raw));
    }

    fn base(&mut self) -> Base {
        let seq = self.seq;
        self.seq += 1;
        let mut id = String::with_capacity(self.run.len() + 12);
        id.push_str(&self.run);
        // Writing to a string cannot fail.
        let _ = write!(id, "-{seq}");
        Base {
            schema: (seq == 0).then(|| Text::from(SCHEMA)),
            id,
            seq,
            timestamp: self.timestamp.clone(),
            provider: self.provider.clone(),
            session_id: self.session_id.clone(),
            ..Base::default()
        }
    }
}
