//! The abilities of Gemini CLI, for programs.

use lapidary_vocab::capabilities::{
    Capabilities, DenialLayers, FoundBy, Model, ProviderMetadata, RuleKeeping, RuleSupport, SCHEMA,
    TriedPlace,
};

use crate::agents::gemini_versions::{INSTALL, NAME, PLAN, RESUME, STREAM_JSON, version_has};
use crate::agents::own_policy::{AskAbility, denial_layers, rule_keeping};
use crate::config::{DEFAULT_TIMEOUT, PROVIDER_KEYS, PermissionMode};
use crate::detect::AgentVersion;
use crate::detect::{FoundProgram, NotFound, RejectedPlace, SearchReason};

/// Its abilities as installed here; the abilities of a current version if it is not installed.
pub fn capabilities(detected: &Result<FoundProgram, NotFound>) -> Capabilities {
    let found = detected.as_ref().ok();
    let version = found.and_then(|found| found.version.as_ref());
    let tried = match detected {
        Ok(found) => &found.tried,
        Err(missing) => &missing.tried,
    };
    Capabilities {
        schema: SCHEMA.into(),
        agent: NAME.to_owned(),
        installed: found.is_some(),
        url: None,
        cli_path: found.map(|found| found.path.to_string_lossy().into_owned()),
        found_by: found.map(|found| found_by(&found.how)),
        version: version.map(AgentVersion::to_string),
        tried: tried.iter().map(tried_place).collect(),
        supports_slash_commands: false,
        supports_models: true,
        models: vec![
            model_row("gemini-2.5-pro", "Gemini 2.5 Pro"),
            model_row("gemini-2.5-flash", "Gemini 2.5 Flash"),
        ],
        supports_web_search: true,
        supports_thinking: true,
        supports_stream_json: version_has(version, STREAM_JSON),
        supports_resume: version_has(version, RESUME),
        supports_plan_mode: version_has(version, PLAN),
        supports_acp: true,
        permission_modes: permission_modes(version),
        rules: rule_support(found),
        install: Some(INSTALL.to_owned()),
        confinement: None, // the registry knows
        metadata: metadata(),
    }
}

/// The same agent as a provider in a workflow.
pub fn metadata() -> ProviderMetadata {
    ProviderMetadata {
        name: "gemini-cli".to_owned(),
        description: "Gemini CLI AI agent via subprocess".to_owned(),
        requires_config: false,
        config_keys: PROVIDER_KEYS.map(str::to_owned).to_vec(),
        default_response_timeout: DEFAULT_TIMEOUT.as_secs(),
        fs_ability: "local-write".to_owned(),
    }
}

/// Without ACP it cannot ask, and denies by itself. A run does not start the program to learn its version, so an installation
/// whose package does not name the version gets no policy.
fn rule_support(found: Option<&FoundProgram>) -> RuleSupport {
    let version = found.and_then(|found| found.version.as_ref());
    let acp = match found {
        Some(found) if found.version.is_none() => RuleKeeping::Watched,
        _ => rule_keeping(NAME, version),
    };
    let stream_json = match acp {
        RuleKeeping::Asked => RuleKeeping::Enforced,
        _ => RuleKeeping::Watched,
    };
    let layers = |asking| match &acp {
        RuleKeeping::Watched => DenialLayers::all(&RuleKeeping::Watched),
        _ => denial_layers(NAME, version, asking),
    };
    let streams = version_has(version, STREAM_JSON);
    RuleSupport {
        stream_json: streams.then_some(stream_json),
        acp_denials: Some(layers(AskAbility::Possible)),
        stream_json_denials: streams.then(|| layers(AskAbility::Impossible)),
        acp: Some(acp),
    }
}

fn permission_modes(version: Option<&AgentVersion>) -> Vec<String> {
    PermissionMode::ALL
        .into_iter()
        .filter(|mode| *mode != PermissionMode::Plan || version_has(version, PLAN))
        .map(|mode| mode.as_str().to_owned())
        .collect()
}

fn found_by(how: &SearchReason) -> FoundBy {
    match how {
        SearchReason::Variable(_) => FoundBy::Variable,
        SearchReason::Path => FoundBy::Path,
        SearchReason::CommonPlace => FoundBy::CommonPlace,
    }
}

fn tried_place(tried: &RejectedPlace) -> TriedPlace {
    TriedPlace {
        path: tried.path.to_string_lossy().into_owned(),
        place: found_by(&tried.how),
        refused: tried.refused.to_string(),
    }
}

fn model_row(id: &str, name: &str) -> Model {
    Model {
        id: id.to_owned(),
        name: name.to_owned(),
    }
}
