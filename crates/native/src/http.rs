//! The HTTP client: HTTP/1.1, and HTTP/2 where it is asked for, with TLS, proxies, company certificates and deadlines.
//!
//! Redirects are not followed: a request carries credentials, and another host must not get them. The environment is read by the
//! caller, who passes what counts in [`HttpSettings`].

mod connector;
mod origin;
mod roots;
mod upgrade;

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION};
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use connector::ProxyConnector;
pub use origin::UrlOrigin;
pub use upgrade::{HttpSwitch, UpgradedStream};

/// How much of an error's body is read.
const ERROR_BODY_BYTES: usize = 64 * 1024;
/// How many interim answers (1xx) a server may send before its answer. A server that sends them without end keeps a connection busy, and
/// is otherwise given up only at the deadline of the request.
const MOST_INTERIM_ANSWERS: usize = 64;

/// The proxies, certificates and timeouts of a client.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// `HTTPS_PROXY`: the proxy for `https` URLs.
    pub https_proxy: Option<String>,
    /// `HTTP_PROXY`: the proxy for `http` URLs.
    pub http_proxy: Option<String>,
    /// `NO_PROXY`: hosts, domains and networks that are reached directly, separated by commas.
    pub no_proxy: Option<String>,
    /// `NODE_EXTRA_CA_CERTS` and the like: files with further certificates, as PEM.
    pub extra_certificates: Vec<PathBuf>,
    /// `SSL_CERT_FILE`: the certificates to trust instead of the system's.
    pub certificate_file: Option<PathBuf>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long the server may take to answer, and to say more.
    pub idle_timeout: Duration,
    /// The versions of the protocol.
    pub versions: HttpVersions,
}

/// The versions of HTTP that a client speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HttpVersions {
    /// HTTP/1.1. A connection that becomes a WebSocket needs it.
    #[default]
    Http1,
    /// HTTP/2 where a server agrees to it in the handshake of TLS, HTTP/1.1 otherwise and without TLS.
    Http1And2,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            https_proxy: None,
            http_proxy: None,
            no_proxy: None,
            extra_certificates: Vec::new(),
            certificate_file: None,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(5),
            versions: HttpVersions::default(),
        }
    }
}

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpMethod {
    /// It reads.
    Get,
    /// It sends a body.
    Post,
    /// It deletes.
    Delete,
}

/// A request to send. Values of headers are treated as secrets.
#[derive(Clone, Copy)]
pub struct HttpRequest<'a> {
    /// The method.
    pub method: HttpMethod,
    /// An `http` or `https` URL.
    pub url: &'a str,
    /// Headers beside `Host` and those of the body.
    pub headers: &'a [(&'a str, &'a str)],
    /// A body of JSON.
    pub json: Option<&'a str>,
    /// How long the server may take to answer, and to say more, instead of the client's limit. [`Duration::MAX`] is no limit.
    pub idle_timeout: Option<Duration>,
}

impl fmt::Debug for HttpRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("HttpRequest");
        debug.field("method", &self.method).field("url", &self.url);
        debug.finish_non_exhaustive()
    }
}

/// Why there is no answer, or no more of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The URL or a header cannot be sent.
    #[error("invalid request for `{url}`: {reason}")]
    InvalidRequest {
        /// The URL.
        url: String,
        /// The reason.
        reason: String,
    },
    /// A proxy's URL cannot be used.
    #[error("invalid proxy `{proxy}`")]
    InvalidProxy {
        /// The URL, without its credentials.
        proxy: String,
    },
    /// Certificates cannot be read.
    #[error("cannot read the certificates of `{path}`: {reason}")]
    Certificates {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// There is no connection to the server.
    #[error("cannot connect to `{host}`: {reason}")]
    Connect {
        /// The server, with its port if the URL names one.
        host: String,
        /// The message of the system or of TLS.
        reason: String,
    },
    /// The connection broke.
    #[error("the connection to `{host}` broke: {reason}")]
    Broken {
        /// The server.
        host: String,
        /// The message of the system or of TLS.
        reason: String,
    },
    /// The server said nothing for too long.
    #[error("`{host}` sent nothing for {} s", waited.as_secs())]
    Silent {
        /// The server.
        host: String,
        /// How long was waited.
        waited: Duration,
    },
    /// The answer is larger than the caller takes.
    #[error("the answer of `{host}` has more than {limit} bytes")]
    TooLarge {
        /// The server.
        host: String,
        /// The limit.
        limit: usize,
    },
    /// The server redirects the request.
    #[error("`{host}` redirects to `{location}`, which is not followed")]
    Redirect {
        /// The server.
        host: String,
        /// Where to.
        location: String,
    },
}

type PlainClient = Client<ProxyConnector, Full<Bytes>>;
type TlsClient = Client<HttpsConnector<ProxyConnector>, Full<Bytes>>;

/// Sends requests. Connections are kept and used again.
pub struct HttpClient {
    settings: HttpSettings,
    connector: ProxyConnector,
    plain: PlainClient,
    /// Made at the first `https` request: reading the system's certificates takes longer than all else.
    tls: OnceCell<TlsClient>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

/// An answer whose body has not been read.
#[derive(Debug)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    host: Arc<str>,
    idle_timeout: Duration,
    body: Incoming,
}

impl HttpClient {
    /// A client for these surroundings. Nothing is connected or read yet.
    pub fn new(settings: HttpSettings) -> Result<Self, HttpError> {
        let connector = ProxyConnector::new(&settings)?;
        let plain = Client::builder(TokioExecutor::new()).build(connector.clone());
        Ok(Self {
            settings,
            connector,
            plain,
            tls: OnceCell::new(),
        })
    }

    /// Posts JSON. Dropping the future ends the request.
    pub async fn post_json(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<HttpResponse, HttpError> {
        let request = HttpRequest {
            method: HttpMethod::Post,
            url,
            headers,
            json: Some(&body),
            idle_timeout: None,
        };
        self.send(request).await
    }

    /// Gets a URL. Dropping the future ends the request.
    pub async fn get(
        &self,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<HttpResponse, HttpError> {
        let request = HttpRequest {
            method: HttpMethod::Get,
            url,
            headers,
            json: None,
            idle_timeout: None,
        };
        self.send(request).await
    }

    /// Sends a request. Redirects are an error. Dropping the future ends the request.
    pub async fn send(&self, request: HttpRequest<'_>) -> Result<HttpResponse, HttpError> {
        let idle_timeout = request.idle_timeout.unwrap_or(self.settings.idle_timeout);
        let (host, answer) = self.fetch_answer_head(&request, idle_timeout).await?;
        let (head, body) = answer.into_parts();
        if head.status.is_redirection() {
            return Err(redirect_error(&host, &head.headers));
        }
        Ok(HttpResponse {
            status: head.status.as_u16(),
            headers: head.headers,
            host,
            idle_timeout,
            body,
        })
    }

    /// The head of the server's answer, with the server's name.
    async fn fetch_answer_head(
        &self,
        request: &HttpRequest<'_>,
        waited: Duration,
    ) -> Result<(Arc<str>, Response<Incoming>), HttpError> {
        let mut request = self.build_request(request)?;
        let flooded = watch_interim_answers(&mut request);
        let host: Arc<str> = request.uri().host().unwrap_or_default().into();
        let port = request.uri().port_u16();
        let is_tls = request.uri().scheme_str() == Some("https");
        let answer = async {
            if is_tls {
                Ok(self.tls_client().await?.request(request).await)
            } else {
                Ok(self.plain.request(request).await)
            }
        };
        // Both arms may be dropped: a request that is dropped ends its connection.
        let answer = tokio::select! {
            biased;
            () = flooded.cancelled() => return Err(HttpError::Broken {
                host: host.to_string(),
                reason: format!("more than {MOST_INTERIM_ANSWERS} interim answers (1xx)"),
            }),
            answer = timeout(waited, answer) => answer,
        };
        let answer = answer.map_err(|_| HttpError::Silent {
            host: host.to_string(),
            waited,
        })??;
        let answer = answer.map_err(|error| {
            if !error.is_connect() {
                return broken_error(&host, &error);
            }
            HttpError::Connect {
                host: port.map_or_else(|| host.to_string(), |port| format!("{host}:{port}")),
                reason: innermost_message(&error),
            }
        })?;
        Ok((host, answer))
    }

    fn build_request(&self, asked: &HttpRequest<'_>) -> Result<Request<Full<Bytes>>, HttpError> {
        let invalid = |reason: String| HttpError::InvalidRequest {
            url: asked.url.to_owned(),
            reason,
        };
        let uri = asked.url.parse();
        let uri: Uri =
            uri.map_err(|error: hyper::http::uri::InvalidUri| invalid(error.to_string()))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err(invalid("it is no `http` or `https` URL".to_owned()));
        }
        let body = Bytes::from(asked.json.unwrap_or_default().to_owned());
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = match asked.method {
            HttpMethod::Get => Method::GET,
            HttpMethod::Post => Method::POST,
            HttpMethod::Delete => Method::DELETE,
        };
        if asked.json.is_some() {
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(CONTENT_TYPE, json);
        }
        if let Some(authority) = uri.authority()
            && let Ok(host) = HeaderValue::from_str(authority.as_str())
        {
            request.headers_mut().insert(HOST, host);
        }
        self.connector
            .add_proxy_credentials(&uri, request.headers_mut());
        *request.uri_mut() = uri;
        for (name, value) in asked.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let name = name.map_err(|error| invalid(error.to_string()))?;
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| invalid(format!("the value of `{name}` is not a header value")))?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        Ok(request)
    }

    async fn tls_client(&self) -> Result<&TlsClient, HttpError> {
        let make = || async {
            let config = roots::tls_config(&self.settings).await?;
            let connector = HttpsConnectorBuilder::new()
                .with_tls_config(config)
                .https_only();
            let connector = match self.settings.versions {
                HttpVersions::Http1 => connector
                    .enable_http1()
                    .wrap_connector(self.connector.clone()),
                HttpVersions::Http1And2 => connector
                    .enable_http1()
                    .enable_http2()
                    .wrap_connector(self.connector.clone()),
            };
            Ok(Client::builder(TokioExecutor::new()).build(connector))
        };
        self.tls.get_or_try_init(make).await
    }
}

impl HttpResponse {
    /// The next bytes of the body; none at its end. Can be cancelled.
    pub async fn next_bytes(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let frame = timeout(self.idle_timeout, self.body.frame()).await;
            let frame = frame.map_err(|_| HttpError::Silent {
                host: self.host.to_string(),
                waited: self.idle_timeout,
            })?;
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|error| broken_error(&self.host, &error))?;
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
    }

    /// The whole body, of up to `limit` bytes.
    pub async fn bytes(&mut self, limit: usize) -> Result<Vec<u8>, HttpError> {
        let mut body = Vec::new();
        while let Some(bytes) = self.next_bytes().await? {
            if body.len() + bytes.len() > limit {
                return Err(HttpError::TooLarge {
                    host: self.host.to_string(),
                    limit,
                });
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }

    /// The value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body of an error: as much of it as is worth reading.
    pub async fn error_body(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < ERROR_BODY_BYTES
            && let Ok(Some(bytes)) = self.next_bytes().await
        {
            body.extend_from_slice(&bytes);
        }
        body.truncate(ERROR_BODY_BYTES);
        body
    }
}

/// Is cancelled once the server has sent too many interim answers.
fn watch_interim_answers(request: &mut Request<Full<Bytes>>) -> CancellationToken {
    let (flooded, count) = (CancellationToken::new(), AtomicUsize::new(0));
    let tell = flooded.clone();
    hyper::ext::on_informational(request, move |_| {
        if count.fetch_add(1, Ordering::Relaxed) == MOST_INTERIM_ANSWERS {
            tell.cancel();
        }
    });
    flooded
}

fn redirect_error(host: &str, headers: &HeaderMap) -> HttpError {
    let location = headers.get(LOCATION).map(HeaderValue::as_bytes);
    HttpError::Redirect {
        host: host.to_owned(),
        location: String::from_utf8_lossy(location.unwrap_or_default()).into_owned(),
    }
}

fn broken_error(host: &str, error: &(dyn Error + 'static)) -> HttpError {
    HttpError::Broken {
        host: host.to_owned(),
        reason: innermost_message(error),
    }
}

/// The error that caused all others: those above it only say that a request failed.
fn innermost_message(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
