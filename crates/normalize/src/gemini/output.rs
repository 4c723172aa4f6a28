//! `gemini -o json`, from stdout or stderr → events, as far as the document carries them.

use std::borrow::Cow;

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::{
    DiagnosticKind, SessionState, SessionStatus, TextEvent, TextKind, TurnComplete,
};
use lapidary_vocab::{Body, Json};
use lapidary_wire::gemini::output::{OutputDocument, OutputPiece, pieces};
use lapidary_wire::lines::without_mark;

use super::stream::{MOST_REPORTED, StreamNormalizer};
use super::turn;
use crate::excerpt::shortened_name;
use crate::own::{owned_json, owned_text, string_token};
use crate::raw::RawContent;
use crate::stamp::EventStamp;
use crate::{
    AgentReport, EventBuffer, NormalizeOptions, Normalizer as _, OutcomeJudge, ProcessEnd,
};

/// Translates a whole output and ends the run.
pub fn events(
    bytes: &[u8],
    options: &NormalizeOptions,
    ending: &ProcessEnd,
    out: &mut EventBuffer,
) {
    let mut normalizer = StreamNormalizer::new(options);
    normalizer.document(bytes, NoisePolicy::Report, out);
    normalizer.finish(ending, out);
}

/// The treatment of text beside the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoisePolicy {
    /// Each line is a diagnostic.
    Report,
    /// It is no surprise there: Gemini CLI writes its error document to stderr, among much else.
    Ignore,
}

/// Translates a whole output. Bytes that are not UTF-8 are read lossily; a diagnostic then keeps the output as it came.
pub(super) struct OutputTranslator<'a> {
    pub(super) stamp: &'a mut EventStamp,
    pub(super) verdict: &'a mut OutcomeJudge,
    pub(super) noise: NoisePolicy,
}

impl OutputTranslator<'_> {
    pub(super) fn translate_output(&mut self, bytes: &[u8], out: &mut EventBuffer) {
        let bytes = without_mark(bytes);
        let text = String::from_utf8_lossy(bytes);
        if let (Cow::Owned(_), NoisePolicy::Report) = (&text, self.noise) {
            self.not_utf8(bytes, out);
        }
        for piece in pieces(&text) {
            match piece {
                OutputPiece::Document(document) => self.translate_document(&document, out),
                // The CLI prints its error twice; the second time says nothing new.
                OutputPiece::Repetition => {}
                OutputPiece::Noise(_) if self.noise == NoisePolicy::Ignore => {}
                OutputPiece::Noise(line) => self.report_noise(line, out),
            }
        }
    }

    fn not_utf8(&mut self, bytes: &[u8], out: &mut EventBuffer) {
        self.stamp.push_diagnostic(
            DiagnosticKind::MalformedLine,
            "the output is not valid UTF-8".to_owned(),
            &mut Some(RawContent::from_other_bytes(bytes)),
            out,
        );
    }

    fn report_noise(&mut self, line: &str, out: &mut EventBuffer) {
        let (kind, message, raw) = match Token::parse(line) {
            Ok(token) if token.kind() == TokenKind::Object => {
                let message = "an object that is not a result";
                (
                    DiagnosticKind::UnknownType,
                    message,
                    RawContent::from_json_token(token),
                )
            }
            _ => {
                let raw = RawContent::from_other_bytes(line.as_bytes());
                (DiagnosticKind::Noise, "text that is not JSON", raw)
            }
        };
        self.stamp
            .push_diagnostic(kind, message.to_owned(), &mut Some(raw), out);
    }

    fn translate_document(&mut self, document: &OutputDocument<'_>, out: &mut EventBuffer) {
        let mut raw = Some(RawContent::from_json_token(document.token));
        self.stamp.session_id = string_token(document.session_id)
            .map(owned_text)
            .filter(|id| !id.is_empty());
        let mut init = self
            .stamp
            .next_event(Body::SessionInit(Box::default()), &mut raw);
        for (key, value) in &document.unknown_fields {
            let key = format!("gemini.{}", key.string().unwrap_or_default());
            init.base.extensions.insert(key, owned_json(*value));
        }
        out.push(init);
        for (key, _) in document.unknown_fields.iter().take(MOST_REPORTED) {
            let message = format!("unknown field {}", shortened_name(key.as_str()));
            self.stamp
                .push_diagnostic(DiagnosticKind::UnknownField, message, &mut raw, out);
        }
        self.emit_warnings(document, out);
        if let Some(response) = string_token(document.response)
            .map(owned_text)
            .filter(|response| !response.is_empty())
        {
            let said = TextEvent {
                text: response,
                kind: TextKind::Text,
                parent_call_id: None,
                model: None,
            };
            out.push(self.stamp.next_event(Body::Text(said), &mut raw));
        }
        self.emit_turn(document, out);
    }

    fn emit_warnings(&mut self, document: &OutputDocument<'_>, out: &mut EventBuffer) {
        for warning in document.warnings.into_iter().flat_map(Token::elements) {
            let message = owned_text(warning);
            self.verdict.notice(false, &message);
            let status = SessionStatus {
                status: SessionState::Error,
                message: Some(message),
            };
            let mut event = self
                .stamp
                .next_event(Body::SessionStatus(status), &mut None);
            event
                .base
                .extensions
                .insert("gemini.severity".to_owned(), Json::from_value(&"warning"));
            out.push(event);
        }
    }

    fn emit_turn(&mut self, document: &OutputDocument<'_>, out: &mut EventBuffer) {
        let error = document.error.and_then(Token::non_null);
        let said = |name| string_token(error?.get(name)).map(owned_text);
        let status = if error.is_none() { "success" } else { "error" };
        let message = said("message");
        let error_type = said("type").map(|name| name.to_str().into_owned());
        self.verdict.result(AgentReport {
            cause: None,
            status: status.to_owned(),
            error_type,
            message: message.clone(),
            code: error.and_then(|error| error.get("code")?.u64()),
            is_unasked: false,
            hint: None,
        });
        let mut turn = TurnComplete {
            is_error: error.is_some(),
            subtype: Some(status.into()),
            errors: message.or_else(|| said("type")).into_iter().collect(),
            ..TurnComplete::default()
        };
        if let Some(stats) = document.stats {
            turn::output_stats(stats, &mut turn);
            let has_spoken = string_token(document.response).is_some_and(|text| !text.is(""));
            self.verdict.asked(has_spoken || turn.usage.is_some());
        }
        let mut event = self
            .stamp
            .next_event(Body::TurnComplete(Box::new(turn)), &mut None);
        for (name, token) in [("gemini.error", error), ("gemini.stats", document.stats)] {
            if let Some(token) = token {
                event
                    .base
                    .extensions
                    .insert(name.to_owned(), owned_json(token));
            }
        }
        out.push(event);
    }
}
