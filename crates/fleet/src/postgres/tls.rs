//! TLS for the `PostgreSQL` driver, on the rustls that the HTTP client has. The server must prove the name in the address.

use std::error::Error;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client;

type BoxError = Box<dyn Error + Send + Sync>;

/// Encrypts connections.
#[derive(Clone)]
pub(super) struct TlsMaker {
    connector: TlsConnector,
}

impl TlsMaker {
    /// Trusts the certificates of this file, or the system's.
    pub(super) fn new(root_certificates: Option<&Path>) -> io::Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(read_roots(root_certificates)?)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        Ok(Self { connector })
    }
}

fn read_roots(file: Option<&Path>) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = file {
        let found = CertificateDer::pem_file_iter(file).map_err(io::Error::other)?;
        for certificate in found {
            let certificate = certificate.map_err(io::Error::other)?;
            roots.add(certificate).map_err(io::Error::other)?;
        }
    } else {
        let system = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(system.certs);
    }
    if roots.is_empty() {
        Err(io::Error::other("no certificate to trust was found"))
    } else {
        Ok(roots)
    }
}

impl<S> MakeTlsConnect<S> for TlsMaker
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = PostgresTls<S>;
    type TlsConnect = NamedConnector;
    type Error = BoxError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<NamedConnector, BoxError> {
        Ok(NamedConnector {
            connector: self.connector.clone(),
            name: ServerName::try_from(domain.to_owned())?,
        })
    }
}

/// Encrypts one connection to a server of this name.
pub(super) struct NamedConnector {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl<S> TlsConnect<S> for NamedConnector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = PostgresTls<S>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<PostgresTls<S>, BoxError>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let stream = self.connector.connect(self.name, stream).await?;
            Ok(PostgresTls(Box::new(stream)))
        })
    }
}

/// An encrypted connection.
pub(super) struct PostgresTls<S>(Box<client::TlsStream<S>>);

/// The password is bound to the server by its certificate's name alone.
impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for PostgresTls<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for PostgresTls<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for PostgresTls<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
