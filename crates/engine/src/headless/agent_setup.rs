//! How Gemini CLI is set up in the workspace of a job: this makes hints exact, and settings that it cannot use over ACP are
//! refused at once.

use std::ffi::OsStr;

use lapidary_gemini::auth::SignInMethod;
use lapidary_gemini::settings::{Settings, WorkspaceTrust};
use lapidary_gemini::trust::Trust;
use lapidary_gemini::{GeminiHome, Vars};
use lapidary_normalize::{AgentSetup, TurnLimit};
use lapidary_vocab::event::Provider;
use serde_json::Value;

use super::{Job, JobAgent};
use crate::gemini_cli;

/// The settings that count for a job.
struct CountedSettings {
    home: GeminiHome,
    settings: Settings,
    workspace: WorkspaceTrust,
}

impl Job {
    /// How the agent is set up. Only Gemini CLI's settings are known.
    pub(super) fn agent_setup(&self) -> AgentSetup {
        let Some(counting) = self.counted_settings() else {
            return AgentSetup::default();
        };
        AgentSetup {
            sign_in_hint: self.sign_in_hint(&counting),
            turn_limit: counting.turn_limit(),
        }
    }

    /// The option, variable or setting that turns on Gemini CLI's sandbox, if any.
    pub(super) fn sandbox_source(&self) -> Option<&'static str> {
        if self.caller_variable("SANDBOX").is_some() {
            return None; // the CLI is inside one already
        }
        if self.config.sandbox == Some(true) || gemini_cli::asks_for_sandbox(&self.extra_args) {
            return Some("--sandbox");
        }
        let is_off = |value: &str| matches!(value.trim(), "" | "0" | "false");
        if let Some(value) = self.caller_variable("GEMINI_SANDBOX") {
            return (!is_off(&value.to_lowercase())).then_some("GEMINI_SANDBOX");
        }
        let counting = self.counted_settings()?;
        let asked = counting.get(&["tools", "sandbox"])?;
        let is_asked = match asked {
            Value::Bool(is_on) => *is_on,
            Value::String(command) => !is_off(command),
            Value::Object(object) => object.get("enabled") == Some(&Value::Bool(true)),
            _ => false,
        };
        is_asked.then_some("`tools.sandbox` in settings.json")
    }

    /// A variable of the caller's that is not blank.
    fn caller_variable(&self, name: &str) -> Option<String> {
        let value = self.environment.vars.get(OsStr::new(name))?;
        let value = value.to_string_lossy().into_owned();
        Some(value).filter(|value| !value.trim().is_empty())
    }

    fn counted_settings(&self) -> Option<CountedSettings> {
        let is_gemini = match &self.agent {
            JobAgent::Gemini => true,
            JobAgent::Acp(agent) => agent.provider == Provider::Gemini,
            JobAgent::InProcess(_) | JobAgent::Remote(_) => false,
        };
        let environment = self.environment_of_agent();
        let vars = Vars::new(&environment.vars);
        let home = GeminiHome::from_vars(vars, environment.home.as_deref());
        let home = home.filter(|_| is_gemini)?;
        let directory = self.config.working_dir_in(&self.environment.dir);
        let workspace = match self.config.trust_workspace {
            Some(true) => WorkspaceTrust::Counts,
            _ => Trust::for_folder(&directory, &home, vars).workspace(),
        };
        Some(CountedSettings {
            settings: Settings::read(&home, &directory),
            home,
            workspace,
        })
    }

    /// The hint for a rejected login although credentials are configured.
    fn sign_in_hint(&self, counting: &CountedSettings) -> Option<String> {
        let environment = self.environment_of_agent();
        let vars = Vars::new(&environment.vars);
        let directory = self.config.working_dir_in(&self.environment.dir);
        let CountedSettings {
            home,
            settings,
            workspace,
        } = counting;
        let hint = match SignInMethod::detect(&directory, home, vars, settings, *workspace) {
            SignInMethod::Ready { method, .. } if method == "oauth-personal" => {
                "run `gemini` and sign in again"
            }
            SignInMethod::Ready { .. }
                if self.caller_variable("GOOGLE_GEMINI_BASE_URL").is_some() =>
            {
                "a key is set: check that it is valid, and that GOOGLE_GEMINI_BASE_URL is the address that it is for"
            }
            SignInMethod::Ready { .. } => {
                "a key or an account is set: check that it is valid and may use this model"
            }
            SignInMethod::Unusable { method, .. } if method == "gateway" => {
                "GOOGLE_GEMINI_BASE_URL is set, so Gemini CLI wants a gateway: set `security.auth.selectedType` in settings.json to `gemini-api-key`, or unset it"
            }
            SignInMethod::Unusable { .. } => {
                "set another method in `security.auth.selectedType` of settings.json, or sign in with `gemini`"
            }
            SignInMethod::Doubtful { .. } | SignInMethod::None => return None,
        };
        Some(hint.to_owned())
    }
}

impl CountedSettings {
    fn get(&self, keys: &[&str]) -> Option<&Value> {
        self.settings.get(keys, self.workspace)
    }

    /// Negative numbers, and the default, are no limit.
    fn turn_limit(&self) -> TurnLimit {
        let limit = self.get(&["model", "maxSessionTurns"]);
        match limit.and_then(Value::as_u64) {
            Some(turns) => TurnLimit::Turns(turns),
            None => TurnLimit::Unlimited,
        }
    }
}
