//! Remote ACP agents: a task that passes the lines of a pipe in memory on to a server, and the server's messages back.
//!
//! The engine sees an agent as any other, so recording, rules, hooks, budget and timeouts apply unchanged. A line is one WebSocket text
//! message, or one POST of the protocol's draft of streamable HTTP. Nothing that the server sends is kept here beyond one message: the
//! reader behind the pipe has the limits. Credentials go to one origin only, never through a redirect, and never in plain text beyond
//! this machine.

mod cookies;
mod credentials;
mod loss;
mod message_routes;
mod streamable_http;
mod websocket;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::header::{HeaderMap, SET_COOKIE};
use lapidary_rpc::{AgentLoss, AgentLossKind, LocalAgent};
use tokio::io::DuplexStream;

use crate::http::{HttpClient, HttpSettings, HttpVersions};
use cookies::CookieJar;
pub use credentials::{SecretText, TokenCommand, TokenSource};

/// The transport to a remote agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteTransport {
    /// One WebSocket.
    WebSocket,
    /// POST for our messages, event streams for the agent's.
    StreamableHttp,
}

/// A remote agent, and how it is reached.
#[derive(Debug, Clone)]
pub struct RemoteAgentSettings {
    /// The `http` or `https` URL of the agent. A WebSocket begins as a request to it.
    pub url: String,
    /// The address for messages. It has no credentials and no query.
    pub shown_url: String,
    /// The transport.
    pub transport: RemoteTransport,
    /// The source of the bearer token, if the server wants one.
    pub token: Option<TokenSource>,
    /// Whether the connection is encrypted or stays on this machine. Otherwise no token is sent.
    pub is_protected: bool,
    /// Proxies and certificates.
    pub http: HttpSettings,
    /// How long the server may take to accept the connection, or one message.
    pub answer_timeout: Duration,
    /// After so long without a byte from a WebSocket it is pinged; after twice as long it is broken.
    pub keep_alive: Duration,
}

impl RemoteAgentSettings {
    /// The usual times.
    pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
    /// The usual time between a sign of life and a ping.
    pub const KEEP_ALIVE: Duration = Duration::from_secs(30);
}

/// The agent at the other end of these settings.
pub fn remote_agent(settings: RemoteAgentSettings) -> LocalAgent {
    let settings = Arc::new(settings);
    LocalAgent::elsewhere(move |pipe| serve(pipe, Arc::clone(&settings)))
}

/// Passes lines on until the client hangs up. An error is the reason why the agent is gone before that.
pub async fn serve(
    pipe: DuplexStream,
    settings: Arc<RemoteAgentSettings>,
) -> Result<(), AgentLoss> {
    let link = RemoteLink::open(settings).await?;
    match link.settings.transport {
        RemoteTransport::WebSocket => Box::pin(websocket::serve_websocket(pipe, &link)).await,
        RemoteTransport::StreamableHttp => streamable_http::serve_http(pipe, Arc::new(link)).await,
    }
}

/// The client, the credentials and the cookies of one connection.
struct RemoteLink {
    settings: Arc<RemoteAgentSettings>,
    client: HttpClient,
    token: Option<SecretText>,
    cookies: Mutex<CookieJar>,
}

impl RemoteLink {
    async fn open(settings: Arc<RemoteAgentSettings>) -> Result<Self, AgentLoss> {
        let token = match &settings.token {
            None => None,
            Some(_) if !settings.is_protected => return Err(plain_text(&settings)),
            Some(source) => Some(source.read_token().await?),
        };
        let versions = match settings.transport {
            RemoteTransport::WebSocket => HttpVersions::Http1,
            RemoteTransport::StreamableHttp => HttpVersions::Http1And2,
        };
        let client = HttpClient::new(HttpSettings {
            versions,
            ..settings.http.clone()
        });
        let client = client.map_err(|error| {
            AgentLoss::new(AgentLossKind::Misconfigured, error.to_string())
                .hint("check `HTTPS_PROXY` and `HTTP_PROXY`")
        })?;
        Ok(Self {
            settings,
            client,
            token,
            cookies: Mutex::default(),
        })
    }

    /// The headers of every request: credentials and cookies.
    fn request_headers(&self) -> Vec<(&'static str, String)> {
        let token = self.token.as_ref();
        let authorization = token.map(|token| ("authorization", token.to_bearer()));
        let cookies = self
            .cookies
            .lock()
            .expect("no holder panics")
            .cookie_header();
        let cookies = cookies.map(|cookies| ("cookie", cookies));
        authorization.into_iter().chain(cookies).collect()
    }

    /// Keeps the cookies of an answer, as the draft asks for: load balancers find the right server by them.
    fn keep_cookies(&self, headers: &HeaderMap) {
        let mut cookies = self.cookies.lock().expect("no holder panics");
        for value in headers.get_all(SET_COOKIE) {
            cookies.set_cookie(value.as_bytes());
        }
    }
}

fn plain_text(settings: &RemoteAgentSettings) -> AgentLoss {
    let message = format!(
        "no token is sent to `{}`: the connection is not encrypted, and leaves this machine",
        settings.shown_url
    );
    AgentLoss::new(AgentLossKind::Misconfigured, message).hint("use `wss://` or `https://`")
}
