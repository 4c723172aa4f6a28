//! Findings about remote agents that only their servers can tell: `agents check --online`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use lapidary_gemini::agents::{
    AgentDefinition, AgentFinding, AgentRegistry, AgentSeverity, RemoteAgentDefinition,
};
use lapidary_native::a2a::{CheckedCard, RemoteCard, check_cards};
use lapidary_native::http::HttpError;

use super::remote_means;

/// Fetches the cards of the remote agents that count, and reports on each. Agents that do not count are not contacted: the user has
/// not agreed to their addresses and commands.
///
/// # Errors
/// A proxy cannot be used.
pub async fn check_online(
    registry: &AgentRegistry,
    variables: &BTreeMap<OsString, OsString>,
    directory: &std::path::Path,
) -> Result<Vec<AgentFinding>, HttpError> {
    let agents = registry.get_all_agents().into_iter();
    let definitions: Vec<_> = agents
        .filter_map(AgentDefinition::as_remote)
        .cloned()
        .collect();
    let means = Arc::new(remote_means(variables, directory)?);
    let checked = check_cards(&definitions, &means).await;
    let findings = checked.iter().flat_map(|checked| {
        let definition = &definitions[checked.index];
        findings_of(definition, checked)
    });
    Ok(findings.collect())
}

fn findings_of(definition: &RemoteAgentDefinition, checked: &CheckedCard) -> Vec<AgentFinding> {
    let finding = |severity, sentence: String, hint: Option<String>| AgentFinding {
        severity,
        path: path_of(definition),
        place: None,
        agent: Some(definition.name.clone()),
        sentence,
        hint,
    };
    let card = match &checked.card {
        Ok(card) => card,
        Err(error) => {
            let better = checked.better_url.as_ref();
            let hint = better.map(|url| format!("there is a card at {url}"));
            let hint = hint.or_else(|| error.hint());
            let sentence = format!("agent `{}`: {error}", definition.name);
            return vec![finding(AgentSeverity::Error, sentence, hint)];
        }
    };
    let mut findings = vec![finding(
        AgentSeverity::Note,
        format!("agent `{}`: {}", definition.name, card_summary(card)),
        None,
    )];
    if !card.security_schemes.is_empty() && definition.auth.is_none() {
        let schemes = card.security_schemes.iter();
        let schemes: Vec<_> = schemes
            .map(|(name, kind)| format!("{name} ({kind})"))
            .collect();
        let sentence = format!(
            "agent `{}` requires authentication: {}",
            definition.name,
            schemes.join(" or ")
        );
        let hint = "add `auth` to the agent file: see `docs/agents.md`, Remote agents".to_owned();
        findings.push(finding(AgentSeverity::Warning, sentence, Some(hint)));
    }
    findings
}

/// The card in a sentence.
fn card_summary(card: &RemoteCard) -> String {
    let version = card.version.as_deref().unwrap_or("without a version");
    let interface = &card.interface;
    let streams = if card.can_stream {
        "streams"
    } else {
        "is polled"
    };
    let signed = if card.is_signed {
        ", signed (not verified)"
    } else {
        ""
    };
    format!(
        "its card is `{}` {version}: A2A {} over {} at {}, {streams}{signed}",
        card.name,
        interface.version.as_str(),
        interface.binding.as_str(),
        interface.url
    )
}

fn path_of(definition: &RemoteAgentDefinition) -> PathBuf {
    let metadata = definition.metadata.as_ref();
    let path = metadata.and_then(|metadata| metadata.file_path.clone());
    path.unwrap_or_default()
}
