//! Requests to the interface of a remote agent: credentials, versions, replies and streams.

use std::sync::{Arc, Mutex, PoisonError};

use lapidary_gemini::agents::RemoteAuth;
use lapidary_json::Token;
use lapidary_wire::a2a::reply::{A2aReply, ReplyErrorKind};
use lapidary_wire::a2a::request::{A2aRequest, OutgoingMessage};
use lapidary_wire::a2a::{A2aBinding, A2aVersion};

use super::RemoteError;
use super::auth::CredentialHeader;
use super::card::RemoteCard;
use super::means::RemoteMeans;
use crate::http::HttpResponse;

/// The largest answer that is not a stream.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// How often credentials are resolved again after a refusal.
const AUTH_RETRIES: usize = 2;
/// How much of a server's message is kept.
const MESSAGE_LETTERS: usize = 2000;

/// A remote agent whose card is known.
#[derive(Debug)]
pub(super) struct RemoteLink {
    pub(super) card: RemoteCard,
    means: Arc<RemoteMeans>,
    auth: Option<RemoteAuth>,
    /// The version that the server understood; at first the one of the card.
    version: Mutex<A2aVersion>,
    header: Arc<HeaderCache>,
}

/// The credentials that were resolved last.
#[derive(Debug, Default)]
pub(super) struct HeaderCache(Mutex<Option<Arc<CredentialHeader>>>);

/// How the answer to a message comes.
pub(super) enum RemoteReply {
    /// As server-sent events.
    Stream(HttpResponse),
    /// Whole: the JSON of the result.
    Whole(String),
}

impl HeaderCache {
    pub(super) fn get(&self) -> Option<Arc<CredentialHeader>> {
        // A header is replaced whole, even if a task panicked.
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Resolves the credentials, and keeps them.
    pub(super) async fn resolve_header(
        &self,
        means: &RemoteMeans,
        auth: &RemoteAuth,
    ) -> Result<Arc<CredentialHeader>, RemoteError> {
        let header = Arc::new(means.credentials.credential_header(auth).await?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Arc::clone(&header));
        Ok(header)
    }
}

impl RemoteLink {
    pub(super) fn new(
        card: RemoteCard,
        means: Arc<RemoteMeans>,
        auth: Option<RemoteAuth>,
        header: Arc<HeaderCache>,
    ) -> Self {
        Self {
            version: Mutex::new(card.interface.version),
            card,
            means,
            auth,
            header,
        }
    }

    /// A text of the server without our credentials.
    pub(super) fn redact_credentials(&self, text: String) -> String {
        match self.header.get() {
            Some(header) => header.redact_credentials(text),
            None => text,
        }
    }

    /// Sends a message. A server that does not understand the card's version is asked in the other one, once.
    pub(super) async fn open(
        &self,
        message: OutgoingMessage<'_>,
    ) -> Result<RemoteReply, RemoteError> {
        let version = self.protocol_version();
        let first = match self.open_in(message, version).await {
            Err(RemoteError::WrongVersion { message, .. }) => message,
            opened => return opened,
        };
        let other = version.other();
        match self.open_in(message, other).await {
            Err(RemoteError::WrongVersion { url, .. }) => Err(RemoteError::WrongVersion {
                url,
                message: first,
            }),
            opened => {
                *self.version.lock().unwrap_or_else(PoisonError::into_inner) = other;
                opened
            }
        }
    }

    async fn open_in(
        &self,
        message: OutgoingMessage<'_>,
        version: A2aVersion,
    ) -> Result<RemoteReply, RemoteError> {
        if self.card.can_stream {
            // A refused stream is not sent again without streaming: the agent may have begun before the refusal (`@a2a-js/sdk` 1.3.0).
            return self
                .send_request(A2aRequest::Stream(message), version)
                .await;
        }
        self.send_request(A2aRequest::Send(message), version).await
    }

    /// The JSON of a task.
    pub(super) async fn fetch_task(&self, id: &str) -> Result<String, RemoteError> {
        self.request_whole_answer(A2aRequest::GetTask(id)).await
    }

    /// Cancels a task. The answer is its state afterwards.
    pub(super) async fn cancel_task(&self, id: &str) -> Result<String, RemoteError> {
        self.request_whole_answer(A2aRequest::CancelTask(id)).await
    }

    async fn request_whole_answer(&self, request: A2aRequest<'_>) -> Result<String, RemoteError> {
        match self.send_request(request, self.protocol_version()).await? {
            RemoteReply::Whole(text) => Ok(text),
            RemoteReply::Stream(_) => Err(malformed_answer("a task comes as a stream")),
        }
    }

    fn protocol_version(&self) -> A2aVersion {
        *self.version.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send_request(
        &self,
        request: A2aRequest<'_>,
        version: A2aVersion,
    ) -> Result<RemoteReply, RemoteError> {
        let mut answer = self.send_authorized(request, version).await?;
        let is_stream = answer.header("content-type").is_some_and(|kind| {
            let kind = kind.to_ascii_lowercase();
            kind.starts_with("text/event-stream")
        });
        if answer.status == 200 && is_stream {
            return Ok(RemoteReply::Stream(answer));
        }
        let status = answer.status;
        let body = answer.bytes(ANSWER_BYTES).await?;
        let body = String::from_utf8_lossy(&body);
        self.result_of(status, &body, request)
    }

    /// The result in a body, as its own text.
    fn result_of(
        &self,
        status: u16,
        body: &str,
        request: A2aRequest<'_>,
    ) -> Result<RemoteReply, RemoteError> {
        let binding = self.card.interface.binding;
        let Ok(token) = Token::parse(body) else {
            // A path of the other version is unknown to the server, which says so in its own words.
            let is_unknown = binding == A2aBinding::HttpJson && matches!(status, 404 | 405);
            if is_unknown {
                return Err(self.wrong_version("the path is unknown to the server"));
            }
            if status == 200 {
                return Err(malformed_answer("the reply is not valid JSON"));
            }
            return Err(RemoteError::Refused {
                code: status.into(),
                message: "the reply is not valid JSON".to_owned(),
            });
        };
        match A2aReply::from_token(token, binding) {
            A2aReply::Result(result) if status < 400 => {
                Ok(RemoteReply::Whole(result.as_str().to_owned()))
            }
            A2aReply::Result(_) => Err(RemoteError::Refused {
                code: status.into(),
                message: self.redact_credentials(shortened_message(body)),
            }),
            A2aReply::Error(error) => {
                let message = self.redact_credentials(shortened_message(&error.message));
                Err(match (error.kind(), request) {
                    (ReplyErrorKind::WrongVersion, _) => self.wrong_version(&message),
                    (
                        ReplyErrorKind::TaskNotFound,
                        A2aRequest::GetTask(id) | A2aRequest::CancelTask(id),
                    ) => RemoteError::TaskLost {
                        task: id.to_owned(),
                    },
                    _ => RemoteError::Refused {
                        code: error.code,
                        message,
                    },
                })
            }
        }
    }

    fn wrong_version(&self, message: &str) -> RemoteError {
        RemoteError::WrongVersion {
            url: self.card.interface.url.clone(),
            message: message.to_owned(),
        }
    }

    /// Sends a request with the credentials. After a refusal they are resolved again: a command may print a new token.
    async fn send_authorized(
        &self,
        request: A2aRequest<'_>,
        version: A2aVersion,
    ) -> Result<HttpResponse, RemoteError> {
        let mut header = match &self.auth {
            Some(auth) => Some(match self.header.get() {
                Some(header) => header,
                None => self.header.resolve_header(&self.means, auth).await?,
            }),
            None => None,
        };
        for _ in 0..AUTH_RETRIES {
            let answer = self
                .send_with_header(request, version, header.as_deref())
                .await?;
            if !matches!(answer.status, 401 | 403) {
                return Ok(answer);
            }
            let Some(auth) = &self.auth else { break };
            let fresh = self.header.resolve_header(&self.means, auth).await?;
            if header.as_deref() == Some(&fresh) {
                break;
            }
            header = Some(fresh);
        }
        let answer = self
            .send_with_header(request, version, header.as_deref())
            .await?;
        match answer.status {
            status @ (401 | 403) => Err(RemoteError::Unauthorized {
                url: self.card.interface.url.clone(),
                status,
            }),
            _ => Ok(answer),
        }
    }

    async fn send_with_header(
        &self,
        request: A2aRequest<'_>,
        version: A2aVersion,
        header: Option<&CredentialHeader>,
    ) -> Result<HttpResponse, RemoteError> {
        let form = request.to_http(version, self.card.interface.binding);
        let url = format!(
            "{}{}",
            self.card.interface.url.trim_end_matches('/'),
            form.path
        );
        // JSON-RPC has one URL, which is used as it stands.
        let url = if form.path.is_empty() {
            &self.card.interface.url
        } else {
            &url
        };
        let accept = match request {
            A2aRequest::Stream(_) => "text/event-stream",
            _ => "application/json",
        };
        let mut headers = vec![("Accept", accept)];
        if version == A2aVersion::V1 {
            headers.push(("A2A-Version", version.as_str()));
        }
        headers.extend(header.map(|it| (it.name.as_str(), it.value.as_str())));
        let http = &self.means.http;
        Ok(match form.body {
            Some(body) => http.post_json(url, &headers, body).await?,
            None => http.get(url, &headers).await?,
        })
    }
}

/// A server's message, of a length that fits a screen.
pub(super) fn shortened_message(message: &str) -> String {
    message.chars().take(MESSAGE_LETTERS).collect()
}

pub(super) fn malformed_answer(reason: &str) -> RemoteError {
    RemoteError::MalformedAnswer {
        reason: reason.to_owned(),
    }
}
