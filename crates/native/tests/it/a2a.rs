//! Remote agents over A2A: on the official servers, and on servers that mean harm.

mod credentials;
mod hostile_cards;
mod hostile_tasks;
mod peers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapidary_gemini::agents::{AgentCard, InputConfig, RemoteAgentDefinition, RemoteAuth};
use lapidary_native::a2a::{
    CredentialSource, RemoteAgent, RemoteAnswer, RemoteError, RemoteLimits, RemoteMeans,
    RemotePrompt,
};
use lapidary_native::http::{HttpClient, HttpSettings};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A remote agent of a test.
struct Scene {
    agent: RemoteAgent,
}

/// Short bounds for servers that never answer. Nothing is asserted about time.
fn short() -> RemoteLimits {
    RemoteLimits {
        card: Duration::from_millis(300),
        task: Duration::from_millis(500),
        cancel: Duration::from_secs(2),
        first_poll: Duration::from_millis(1),
        most_poll: Duration::from_millis(20),
    }
}

/// Bounds that no test reaches, with quick polls.
pub(crate) fn patient() -> RemoteLimits {
    RemoteLimits {
        card: Duration::from_secs(30),
        task: Duration::from_mins(1),
        ..short()
    }
}

pub(crate) fn means(limits: RemoteLimits, variables: &[(&str, &str)]) -> Arc<RemoteMeans> {
    let variables = variables
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    Arc::new(RemoteMeans {
        http: HttpClient::new(HttpSettings::default()).unwrap(),
        credentials: CredentialSource {
            variables: variables.collect::<BTreeMap<_, _>>(),
            directory: "/".into(),
        },
        limits,
    })
}

impl Scene {
    fn new(card: AgentCard, auth: Option<RemoteAuth>, means: Arc<RemoteMeans>) -> Self {
        Self::by(&definition(card, auth), means)
    }

    fn by(definition: &RemoteAgentDefinition, means: Arc<RemoteMeans>) -> Self {
        Self {
            agent: RemoteAgent::new(definition, means),
        }
    }

    fn at(url: String, limits: RemoteLimits) -> Self {
        Self::new(AgentCard::Url(url), None, means(limits, &[]))
    }

    /// Asks, and returns the pieces of text that came live beside the answer.
    async fn ask(&self, prompt: &str) -> (Vec<String>, Result<RemoteAnswer, RemoteError>) {
        let pieces = Mutex::new(Vec::new());
        let listen = |text: &str| pieces.lock().unwrap().push(text.to_owned());
        let prompt = RemotePrompt {
            text: prompt,
            session: "s",
        };
        let answer = self
            .agent
            .ask(prompt, &listen, &CancellationToken::new())
            .await;
        (pieces.into_inner().unwrap(), answer)
    }

    async fn answer(&self, prompt: &str) -> String {
        self.ask(prompt).await.1.unwrap().text
    }

    async fn failure(&self, prompt: &str) -> RemoteError {
        self.ask(prompt).await.1.unwrap_err()
    }
}

/// The definition of a remote agent.
fn definition(card: AgentCard, auth: Option<RemoteAuth>) -> RemoteAgentDefinition {
    RemoteAgentDefinition {
        name: "helper".to_owned(),
        display_name: None,
        description: String::new(),
        original_description: None,
        experimental: false,
        input_config: InputConfig::default(),
        card,
        auth,
        max_time_minutes: None,
        metadata: None,
    }
}

/// A card of 0.3 whose requests go to `url`.
fn card(url: &str) -> Value {
    json!({
        "name": "Test", "protocolVersion": "0.3.0", "url": url,
        "capabilities": {"streaming": true}, "skills": [],
    })
}

/// A result of JSON-RPC.
fn result(result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}

/// A task of 0.3.
fn task(state: &str) -> Value {
    json!({"kind": "task", "id": "t1", "contextId": "c1", "status": {"state": state}})
}
