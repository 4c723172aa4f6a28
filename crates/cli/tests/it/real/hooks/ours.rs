//! Lapidary with the same hooks.

use std::collections::BTreeMap;
use std::ffi::OsString;

use lapidary::engine::hooks::{AppliedEffect, HookContext, fire};
use lapidary::gemini::hooks::HookRegistry;
use lapidary::gemini::setup::Setup;
use lapidary::gemini::{GeminiHome, Vars};
use lapidary::wire::gemini::hooks::{EventDetails, HookToolCall};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::cases::Case;
use super::theirs::{Seen, about, log_of_ours, read};

pub(super) struct Expected {
    /// The inputs of our hooks.
    pub(super) told: Vec<Value>,
    pub(super) consequence: Consequence,
}

/// The consequence that a call must have.
#[derive(Debug, PartialEq)]
pub(super) enum Consequence {
    /// It does not run, for this reason.
    Blocked(String),
    /// The call does not run: the input that a hook gives it fails validation.
    Invalid,
    /// It has run, but its result is hidden, for this reason.
    Hidden(String),
    /// It has run, with this added to its result.
    Ran(Option<String>),
}

impl Consequence {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Blocked(_) => "blocked",
            Self::Invalid => "invalid",
            Self::Hidden(_) => "hidden",
            Self::Ran(Some(_)) => "ran on",
            Self::Ran(None) => "ran",
        }
    }

    pub(super) fn is_seen_in(&self, answer: &Value) -> bool {
        let error = answer["error"].as_str();
        let all = answer.to_string();
        match self {
            Self::Blocked(reason) => error == Some(&format!("Tool execution blocked: {reason}")),
            Self::Invalid => error.is_some_and(|it| {
                it.starts_with("Tool parameter modification by hook failed validation")
            }),
            Self::Hidden(reason) => error.is_some_and(|error| error.contains(reason.as_str())),
            Self::Ran(context) => {
                let output = answer["output"].as_str().unwrap_or_default();
                match context {
                    Some(context) => {
                        output.ends_with(&format!("<hook_context>{context}</hook_context>"))
                    }
                    None => error.is_none() && !all.contains("hook_context"),
                }
            }
        }
    }
}

impl Expected {
    pub(super) fn of(case: &Case, number: usize, seen: &Seen) -> Self {
        let log = log_of_ours(&seen.world, number);
        let mut vars: BTreeMap<OsString, OsString> =
            seen.world.environment(&seen.base_url).into_iter().collect();
        vars.insert("HOOK_LOG".into(), log.clone().into());
        let home = GeminiHome::at(seen.world.home());
        let project = seen.world.project().canonicalize().unwrap();
        let setup = Setup::read(&home, &project, Vars::new(&vars));
        let (session, transcript) = seen.session();
        let around = HookContext {
            transcript_path: transcript,
            ..HookContext::from_setup(&setup, &session, vars.into_iter().collect())
        };
        let scene = Scene {
            registry: HookRegistry::from_setup(&setup),
            around,
        };
        let call = &case.calls[number];
        let call = HookToolCall {
            name: call.tool.to_owned(),
            input: call.input.clone(),
            ..HookToolCall::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let consequence = runtime.block_on(scene.consequence(call, seen.after(number)));
        Self {
            told: about(&read(&log), number),
            consequence,
        }
    }
}

struct Scene {
    registry: HookRegistry,
    around: HookContext,
}

impl Scene {
    async fn consequence(&self, call: HookToolCall, response: Option<&Value>) -> Consequence {
        for effect in self.effects(EventDetails::BeforeTool(call.clone())).await {
            match effect {
                AppliedEffect::Block(reason) => return Consequence::Blocked(reason),
                AppliedEffect::ReplaceToolInput(_) => return Consequence::Invalid,
                _ => {}
            }
        }
        // If the CLI ran no hook after the call, our settings must have no hook to run either.
        let response = response.cloned().unwrap_or_default();
        for effect in self.effects(EventDetails::AfterTool(call, response)).await {
            match effect {
                AppliedEffect::Block(reason) => return Consequence::Hidden(reason),
                AppliedEffect::AddContext(context) => return Consequence::Ran(Some(context)),
                _ => {}
            }
        }
        Consequence::Ran(None)
    }

    async fn effects(&self, details: EventDetails) -> Vec<AppliedEffect> {
        let input = self.around.input(details);
        let plan = self.registry.plan(input.event(), input.context());
        let never = CancellationToken::new();
        fire(&plan, input, &self.around, &never).await.effects()
    }
}
