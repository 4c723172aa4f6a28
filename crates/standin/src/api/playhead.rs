//! Where in its script the model is.

use super::error::ApiError;
use super::request::{AnswerSource, ApiRequest, RequestKind};
use super::script::{AfterScript, Script};
use super::turn::Turn;

/// A script that is being played.
#[derive(Debug)]
pub(super) struct ScriptPlayhead {
    script: Script,
    streamed: usize,
    generated: usize,
    /// How often each rule was used.
    used: Vec<u64>,
}

impl ScriptPlayhead {
    pub(super) fn new(script: Script) -> Self {
        Self {
            used: vec![0; script.rules.len()],
            script,
            streamed: 0,
            generated: 0,
        }
    }

    /// The turn for a request, and where it stands; none if the script has nothing to say.
    pub(super) fn next(
        &mut self,
        request: &ApiRequest,
        body: &str,
    ) -> (Option<Turn>, AnswerSource) {
        if let Some(place) = self.rule_for(request, body) {
            self.used[place] += 1;
            return (
                Some(self.script.rules[place].turn.clone()),
                AnswerSource::Rule(place),
            );
        }
        let (turns, place) = match request.kind {
            RequestKind::Stream => (&self.script.stream, &mut self.streamed),
            RequestKind::Generate => (&self.script.generate, &mut self.generated),
            RequestKind::Count | RequestKind::Embed | RequestKind::Other => {
                return (None, AnswerSource::Default);
            }
        };
        if let Some(turn) = turns.get(*place) {
            *place += 1;
            return (Some(turn.clone()), AnswerSource::Turn(*place - 1));
        }
        match (self.script.after, turns.split_last()) {
            (AfterScript::Repeat, Some((last, before))) => {
                (Some(last.clone()), AnswerSource::Turn(before.len()))
            }
            (AfterScript::Error, _) => {
                let error = ApiError::new(500).message("the stand-in's script has no turn left");
                (Some(error.into()), AnswerSource::Default)
            }
            (AfterScript::Default | AfterScript::Repeat, _) => (None, AnswerSource::Default),
        }
    }

    fn rule_for(&self, request: &ApiRequest, body: &str) -> Option<usize> {
        let rules = self.script.rules.iter().zip(&self.used);
        let mut rules = rules.map(|(rule, used)| {
            rule.times.is_none_or(|times| *used < times) && rule.when.matches(request, body)
        });
        rules.position(|applies| applies)
    }
}
