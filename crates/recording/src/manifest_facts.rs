//! The fields of a manifest that a list shows, read leniently: a field of another type is absent, and a newer version is read as
//! far as it is understood.

use lapidary_json::Token;
use lapidary_vocab::recording::{CostBasis, SCHEMA};
use lapidary_vocab::runs::{RunInfo, RunState};
use lapidary_vocab::{Cause, Outcome};

use super::{Manifest, RecordedEnd};

/// How manifests of every version begin to name themselves.
const SCHEMA_FAMILY: &str = "lapidary.recording/";

/// The facts of one manifest.
#[derive(Debug, Default)]
pub(super) struct ManifestFacts {
    schema: Option<String>,
    writer: Option<String>,
    agent: Option<String>,
    transport: Option<String>,
    directory: Option<String>,
    started_at: Option<String>,
    end: Option<RecordedEnd>,
}

impl ManifestFacts {
    /// Reads a manifest. The error is a sentence.
    pub(super) fn read_facts(text: &str) -> Result<Self, String> {
        let object = Token::parse(text).map_err(|_| "`run.json` is not valid JSON".to_owned())?;
        let mut facts = Self::default();
        for (key, value) in object.members() {
            match key.string().as_deref() {
                Some("schema") => facts.schema = text_of(value),
                Some("writer") => facts.writer = text_of(value),
                Some("agent") => facts.agent = text_of(value),
                Some("transport") => facts.transport = text_of(value),
                Some("directory") => facts.directory = text_of(value),
                Some("startedAt") => facts.started_at = text_of(value),
                Some("end") => facts.end = end_of(value),
                _ => {}
            }
        }
        match facts.schema.as_deref() {
            Some(schema) if schema.starts_with(SCHEMA_FAMILY) => Ok(facts),
            _ => Err("`run.json` is not the manifest of a recording".to_owned()),
        }
    }

    pub(super) fn has_end(&self) -> bool {
        self.end.is_some()
    }

    /// As a row of the list.
    pub(super) fn into_info(self, id: &str, state: RunState) -> RunInfo {
        let newer = self.schema.filter(|schema| schema != SCHEMA);
        let is_early = self.writer.is_none();
        let upgraded = |end| {
            if is_early {
                Manifest::upgraded_end(end)
            } else {
                end
            }
        };
        let end = self.end.map(upgraded);
        let duration_ms = end.as_ref().map(|end| end.duration_ms);
        let end = end.unwrap_or_default();
        RunInfo {
            id: id.to_owned(),
            state,
            agent: self.agent,
            outcome: end.outcome,
            cause: end.cause,
            exit_code: end.exit_code,
            agent_exit_code: end.agent_exit_code,
            signal: end.signal,
            session_id: end.session_id,
            started_at: self.started_at,
            duration_ms,
            project: self.directory,
            transport: self.transport,
            model: end.model,
            prompt: end.prompt,
            total_tokens: end.total_tokens,
            cost_usd: end.cost_usd,
            cost_basis: end.cost_basis,
            problem: newer.map(|schema| format!("a newer version recorded it (`{schema}`)")),
        }
    }
}

fn end_of(object: Token<'_>) -> Option<RecordedEnd> {
    let mut end = RecordedEnd::default();
    for (key, value) in object.non_null()?.members() {
        match key.string().as_deref() {
            Some("durationMs") => end.duration_ms = value.u64().unwrap_or_default(),
            Some("exitCode") => end.exit_code = value.as_str().parse().ok(),
            Some("agentExitCode") => end.agent_exit_code = value.as_str().parse().ok(),
            Some("signal") => end.signal = text_of(value),
            Some("outcome") => {
                end.outcome = text_of(value).map(|word| Outcome::from(word.as_str()));
            }
            Some("cause") => end.cause = text_of(value).map(|word| Cause::from(word.as_str())),
            Some("sessionId") => end.session_id = text_of(value),
            Some("model") => end.model = text_of(value),
            Some("prompt") => end.prompt = text_of(value),
            Some("totalTokens") => end.total_tokens = value.u64(),
            Some("costUsd") => end.cost_usd = value.as_str().parse().ok(),
            Some("costBasis") => {
                end.cost_basis = text_of(value).map(|word| CostBasis::from(word.as_str()));
            }
            _ => {}
        }
    }
    Some(end)
}

fn text_of(value: Token<'_>) -> Option<String> {
    value.string().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(text: &str) -> Result<RunInfo, String> {
        Ok(ManifestFacts::read_facts(text)?.into_info("r", RunState::Ended))
    }

    #[test]
    fn a_newer_manifest_is_read_as_far_as_it_is_understood() {
        let read = info(
            r#"{"schema":"lapidary.recording/2","writer":"lapidary 9","agent":"gemini","transport":7,
            "startedAt":"2026-11-17T08:00:00.000Z","end":{"durationMs":5,"outcome":"evaporated","costUsd":0.25,"new":[]}}"#,
        );
        let read = read.unwrap();
        assert_eq!(read.agent.as_deref(), Some("gemini"));
        assert_eq!((read.transport, read.duration_ms), (None, Some(5)));
        assert_eq!(read.outcome, Some(Outcome::Other("evaporated".to_owned())));
        assert_eq!(read.cost_usd, Some(0.25));
        let problem = "a newer version recorded it (`lapidary.recording/2`)";
        assert_eq!(read.problem.as_deref(), Some(problem));
    }

    #[test]
    fn the_exit_code_of_an_early_manifest_is_the_agents() {
        let read = info(
            r#"{"schema":"lapidary.recording/1","end":{"durationMs":5,"exitCode":42,"cause":"auth"}}"#,
        );
        let read = read.unwrap();
        assert_eq!(read.agent_exit_code, Some(42));
        assert_eq!(read.exit_code, Some(Cause::from("auth").exit_code().into()));
    }

    #[test]
    fn a_file_that_is_no_manifest_is_reported() {
        for (text, expected) in [
            ("", "`run.json` is not valid JSON"),
            (r#"{"schema":"lapi"#, "`run.json` is not valid JSON"),
            ("[]", "`run.json` is not the manifest of a recording"),
            (
                r#"{"schema":"lapidary.events/1"}"#,
                "`run.json` is not the manifest of a recording",
            ),
        ] {
            assert_eq!(info(text).unwrap_err(), expected, "{text}");
        }
    }
}
