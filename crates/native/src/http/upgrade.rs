//! Requests after which a connection speaks another protocol, such as WebSocket.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::HeaderMap;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::{HttpClient, HttpError, HttpRequest, HttpResponse, broken_error, redirect_error};

trait ByteStream: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> ByteStream for T {}

/// A connection that speaks another protocol now: bytes in both directions, through TLS and a proxy's tunnel where there are any.
pub struct UpgradedStream {
    /// The headers of the answer.
    pub headers: HeaderMap,
    stream: Pin<Box<dyn ByteStream>>,
}

impl fmt::Debug for UpgradedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpgradedStream").finish_non_exhaustive()
    }
}

/// The server's answer to a request for another protocol.
#[derive(Debug)]
pub enum HttpSwitch {
    /// It agrees.
    Upgraded(UpgradedStream),
    /// It answers in HTTP.
    Declined(HttpResponse),
}

impl UpgradedStream {
    /// The bytes of both directions.
    pub fn into_stream(self) -> impl AsyncRead + AsyncWrite + Send + Unpin {
        self.stream
    }
}

impl HttpClient {
    /// Sends a request whose headers ask for another protocol. Redirects are an error.
    pub async fn upgrade(
        &self,
        request: HttpRequest<'_>,
        deadline: Duration,
    ) -> Result<HttpSwitch, HttpError> {
        let (host, answer) = self.fetch_answer_head(&request, deadline).await?;
        if answer.status().is_redirection() {
            return Err(redirect_error(&host, answer.headers()));
        }
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            let (head, body) = answer.into_parts();
            return Ok(HttpSwitch::Declined(HttpResponse {
                status: head.status.as_u16(),
                headers: head.headers,
                host,
                idle_timeout: deadline,
                body,
            }));
        }
        let headers = answer.headers().clone();
        let upgraded = timeout(deadline, hyper::upgrade::on(answer)).await;
        let upgraded = upgraded.map_err(|_| HttpError::Silent {
            host: host.to_string(),
            waited: deadline,
        })?;
        let upgraded = upgraded.map_err(|error| broken_error(&host, &error))?;
        Ok(HttpSwitch::Upgraded(UpgradedStream {
            headers,
            stream: Box::pin(TokioIo::new(upgraded)),
        }))
    }
}
