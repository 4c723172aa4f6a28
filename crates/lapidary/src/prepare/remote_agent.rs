//! A remote agent: the address of the configuration, with the proxies, certificates and credentials of the environment.

use std::ffi::OsStr;
use std::path::PathBuf;

use lapidary_engine::agents::{AcpAgent, RemoteEndpoint, TokenPlace};
use lapidary_engine::detect::{self, SearchEnvironment};
use lapidary_engine::headless::RemoteAgent;
use lapidary_native::http::HttpSettings;
use lapidary_native::remote_acp::{
    RemoteAgentSettings, RemoteTransport, SecretText, TokenCommand, TokenSource,
    remote_agent as reach,
};

use crate::agents::http_settings;

/// An agent on this machine is never asked for through a proxy.
const HERE: &str = "localhost,127.0.0.1,::1";

/// The agent at an address. Nothing is connected or read yet, but for variables.
pub(super) fn remote_agent(
    agent: AcpAgent,
    endpoint: RemoteEndpoint,
    environment: &SearchEnvironment,
) -> RemoteAgent {
    let url = endpoint.url;
    let settings = RemoteAgentSettings {
        url: url.http_url(),
        shown_url: url.shown(),
        transport: if url.is_websocket() {
            RemoteTransport::WebSocket
        } else {
            RemoteTransport::StreamableHttp
        },
        token: endpoint.token.map(|place| token_source(place, environment)),
        is_protected: url.is_protected(),
        http: remote_http_settings(environment),
        answer_timeout: RemoteAgentSettings::ANSWER_TIMEOUT,
        keep_alive: RemoteAgentSettings::KEEP_ALIVE,
    };
    RemoteAgent {
        name: agent.name,
        provider: agent.provider,
        modes: agent.modes,
        url,
        agent: reach(settings),
        secret_variables: Vec::new(),
    }
}

fn variable_text(environment: &SearchEnvironment, name: &str) -> Option<String> {
    let value = environment.vars.get(OsStr::new(name))?.to_str()?;
    Some(value.to_owned()).filter(|value| !value.trim().is_empty())
}

fn remote_http_settings(environment: &SearchEnvironment) -> HttpSettings {
    let mut settings = http_settings(&|name| variable_text(environment, name));
    let others = settings
        .no_proxy
        .take()
        .map(|others| format!("{others},{HERE}"));
    settings.no_proxy = Some(others.unwrap_or_else(|| HERE.to_owned()));
    settings
}

fn token_source(place: TokenPlace, environment: &SearchEnvironment) -> TokenSource {
    match place {
        TokenPlace::File(path) => TokenSource::File(environment.dir.join(path)),
        TokenPlace::Variable(name) => TokenSource::Variable {
            value: variable_text(environment, &name).map(SecretText::new),
            name,
        },
        TokenPlace::Command(words) => {
            let mut words = words.into_iter();
            let program = words.next().unwrap_or_default();
            let found = if program.contains(['/', '\\']) {
                environment.dir.join(&program)
            } else {
                let found = detect::on_path(&program, environment);
                found.unwrap_or_else(|| PathBuf::from(&program))
            };
            TokenSource::Command(TokenCommand {
                program: found,
                args: words.map(Into::into).collect(),
                directory: environment.dir.clone(),
                environment: environment.vars.clone().into_iter().collect(),
            })
        }
    }
}
