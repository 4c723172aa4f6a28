//! Giving each event its place in the run.

use std::sync::Arc;

use lapidary_vocab::event::{Diagnostic, DiagnosticKind, Provider, SCHEMA};
use lapidary_vocab::{Base, Body, Event, Text};

use crate::raw::RawContent;
use crate::{EventBuffer, NormalizeOptions};

/// Counts events and holds the fields that all of them carry.
#[derive(Debug)]
pub(crate) struct EventStamp {
    run: Arc<str>,
    seq: u64,
    pub(crate) provider: Provider,
    pub(crate) keep_raw: bool,
    pub(crate) session_id: Option<Text>,
    pub(crate) timestamp: Option<Text>,
}

impl EventStamp {
    pub(crate) fn new(options: &NormalizeOptions, provider: Provider) -> Self {
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
    pub(crate) fn next_event(&mut self, body: Body, raw: &mut Option<RawContent>) -> Event {
        let mut base = self.next_base();
        let always = matches!(body, Body::Diagnostic(_));
        if (self.keep_raw || always)
            && let Some(raw) = raw.take()
        {
            raw.put_into(&mut base);
        }
        Event { body, base }
    }

    pub(crate) fn push_diagnostic(
        &mut self,
        kind: DiagnosticKind,
        message: String,
        raw: &mut Option<RawContent>,
        out: &mut EventBuffer,
    ) {
        let body = Diagnostic {
            kind,
            message,
            count: None,
        };
        out.push(self.next_event(Body::Diagnostic(body), raw));
    }

    fn next_base(&mut self) -> Base {
        let seq = self.seq;
        self.seq += 1;
        Base {
            schema: (seq == 0).then(|| Text::from(SCHEMA)),
            id: event_id(&self.run, seq),
            seq,
            timestamp: self.timestamp.clone(),
            provider: self.provider.clone(),
            session_id: self.session_id.clone(),
            ..Base::default()
        }
    }
}

/// `<run>-<seq>`. By hand: this is on every event, and formatting costs as much as scanning the line.
fn event_id(run: &str, seq: u64) -> String {
    let mut digits = [0; 20];
    let mut first = digits.len();
    let mut rest = seq;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let mut id = String::with_capacity(run.len() + 1 + digits.len() - first);
    id.push_str(run);
    id.push('-');
    id.push_str(std::str::from_utf8(&digits[first..]).unwrap_or_default());
    id
}

#[cfg(test)]
mod tests {
    use super::event_id;

    #[test]
    fn ids_count_in_decimal() {
        for seq in [0, 9, 10, 1_234_567, u64::MAX] {
            assert_eq!(event_id("run", seq), format!("run-{seq}"));
        }
    }
}
