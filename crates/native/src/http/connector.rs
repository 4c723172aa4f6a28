//! Connections to a server: directly, through a proxy's tunnel for `https`, or by asking the proxy for `http`.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::header::{HeaderMap, PROXY_AUTHORIZATION};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::{HttpError, HttpSettings};
use crate::tool::BoxFuture;

/// How long a connection is silent before the system asks whether the other side is there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How often it asks again.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// After so many questions without an answer the connection is broken.
const KEEP_ALIVE_RETRIES: u32 = 3;

type ConnectError = Box<dyn std::error::Error + Send + Sync>;

/// Connects as the proxy settings say.
#[derive(Clone)]
pub(super) struct ProxyConnector {
    http: HttpConnector,
    proxies: Arc<Matcher>,
}

/// A connection, and whether a proxy at its other end has to be told the whole URL.
#[derive(Debug)]
pub(super) struct ProxyStream {
    stream: TokioIo<TcpStream>,
    is_proxied: bool,
}

impl ProxyConnector {
    pub(super) fn new(settings: &HttpSettings) -> Result<Self, HttpError> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(settings.connect_timeout));
        // Streams may be silent for as long as a model thinks: the system finds out whether the other side is still there.
        http.set_keepalive(Some(KEEP_ALIVE));
        http.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
        http.set_keepalive_retries(Some(KEEP_ALIVE_RETRIES));
        for proxy in [&settings.https_proxy, &settings.http_proxy] {
            proxy.as_deref().map_or(Ok(()), check_proxy)?;
        }
        let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
        let proxies = Matcher::builder()
            .https(or_empty(&settings.https_proxy))
            .http(or_empty(&settings.http_proxy))
            .no(or_empty(&settings.no_proxy))
            .build();
        Ok(Self {
            http,
            proxies: Arc::new(proxies),
        })
    }

    /// Adds the credentials for a proxy that sees the request itself. A tunnel sends its own.
    pub(super) fn add_proxy_credentials(&self, uri: &Uri, headers: &mut HeaderMap) {
        if uri.scheme_str() == Some("http")
            && let Some(proxy) = self.proxies.intercept(uri)
            && let Some(credentials) = proxy.basic_auth()
        {
            headers.insert(PROXY_AUTHORIZATION, credentials.clone());
        }
    }

    async fn connect_stream(mut self, uri: Uri) -> Result<ProxyStream, ConnectError> {
        let Some(proxy) = self.proxies.intercept(&uri) else {
            let stream = self.http.call(uri).await?;
            return Ok(ProxyStream::new(stream, false));
        };
        if uri.scheme_str() == Some("http") {
            let stream = self.http.call(proxy.uri().clone()).await?;
            return Ok(ProxyStream::new(stream, true));
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.http);
        if let Some(credentials) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(credentials.clone());
        }
        Ok(ProxyStream::new(tunnel.call(uri).await?, false))
    }
}

/// Refuses what would otherwise be ignored: a request must not go out directly because its proxy has a typing error.
fn check_proxy(proxy: &str) -> Result<(), HttpError> {
    let text = if proxy.contains("://") {
        proxy.to_owned()
    } else {
        format!("http://{proxy}")
    };
    let uri = text.parse::<Uri>().ok();
    let is_usable = |uri: &Uri| matches!(uri.scheme_str(), Some("http")) && uri.host().is_some();
    if proxy.is_empty() || uri.as_ref().is_some_and(is_usable) {
        return Ok(());
    }
    Err(HttpError::InvalidProxy {
        proxy: proxy.rsplit('@').next().unwrap_or_default().to_owned(),
    })
}

impl Service<Uri> for ProxyConnector {
    type Response = ProxyStream;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<ProxyStream, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect_stream(uri))
    }
}

impl ProxyStream {
    fn new(stream: TokioIo<TcpStream>, is_proxied: bool) -> Self {
        Self { stream, is_proxied }
    }

    fn pinned_stream(self: Pin<&mut Self>) -> Pin<&mut TokioIo<TcpStream>> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl Connection for ProxyStream {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_proxied)
    }
}

impl Read for ProxyStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.pinned_stream().poll_read(context, buffer)
    }
}

impl Write for ProxyStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.pinned_stream().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pinned_stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pinned_stream().poll_shutdown(context)
    }
}
