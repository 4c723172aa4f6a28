//! The cards of many agents at once, for a check.

use std::sync::Arc;

use lapidary_gemini::agents::{AgentCard, RemoteAgentDefinition};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{RemoteAgent, RemoteCard, RemoteError, RemoteMeans};
use crate::http::UrlOrigin;

/// How many cards are fetched at the same time.
const AT_ONCE: usize = 16;
/// Where the protocol has the card of a host.
const WELL_KNOWN: &str = "/.well-known/agent-card.json";

/// The card of a definition, or the reason why there is none.
#[derive(Debug)]
pub struct CheckedCard {
    /// The place of the definition in the caller's list.
    pub index: usize,
    /// The card.
    pub card: Result<RemoteCard, RemoteError>,
    /// A URL of the same host that has a card, if the definition's own has none.
    pub better_url: Option<String>,
}

/// Fetches the cards of definitions. Returns them in the order of the definitions.
pub async fn check_cards(
    definitions: &[RemoteAgentDefinition],
    means: &Arc<RemoteMeans>,
) -> Vec<CheckedCard> {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut checks = JoinSet::new();
    for (index, definition) in definitions.iter().enumerate() {
        let (definition, means) = (definition.clone(), Arc::clone(means));
        let turns = Arc::clone(&turns);
        checks.spawn(async move {
            let _turn = turns.acquire().await; // it never closes
            check_card(index, &definition, means).await
        });
    }
    let mut checked = checks.join_all().await;
    checked.sort_by_key(|checked| checked.index);
    checked
}

async fn check_card(
    index: usize,
    definition: &RemoteAgentDefinition,
    means: Arc<RemoteMeans>,
) -> CheckedCard {
    let agent = RemoteAgent::new(definition, Arc::clone(&means));
    let card = agent.card().await.cloned();
    let is_elsewhere = matches!(
        card,
        Err(RemoteError::CardNotFound { .. } | RemoteError::NotACard { .. })
    );
    let better_url = if is_elsewhere {
        well_known_card(definition, means).await
    } else {
        None
    };
    CheckedCard {
        index,
        card,
        better_url,
    }
}

/// The well-known URL of the definition's host, if there is a card.
async fn well_known_card(
    definition: &RemoteAgentDefinition,
    means: Arc<RemoteMeans>,
) -> Option<String> {
    let AgentCard::Url(url) = &definition.card else {
        return None;
    };
    let well_known = format!("{}{WELL_KNOWN}", UrlOrigin::parse(url)?);
    if well_known == *url {
        return None;
    }
    let definition = RemoteAgentDefinition {
        card: AgentCard::Url(well_known.clone()),
        ..definition.clone()
    };
    let agent = RemoteAgent::new(&definition, means);
    agent.card().await.is_ok().then_some(well_known)
}
