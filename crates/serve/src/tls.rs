//! TLS: the certificate that the server shows, and the names that it is valid for.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A client has to complete the handshake within this time.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// The files of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those between it and its authority, as PEM.
    pub certificate: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read, or is no PEM.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the reader.
        source: rustls::pki_types::pem::Error,
    },
    /// The file has no certificate.
    #[error("`{}` has no certificate", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The key does not fit, or cannot be used.
    #[error("cannot use the certificate with its key")]
    Unfit {
        /// The error of the library.
        source: rustls::Error,
    },
}

/// The server's certificate.
#[derive(Clone)]
pub(crate) struct TlsIdentity {
    acceptor: TlsAcceptor,
    certificate: CertificateDer<'static>,
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsIdentity").finish_non_exhaustive()
    }
}

impl TlsIdentity {
    pub(crate) fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let chain = CertificateDer::pem_file_iter(&files.certificate);
        let chain = chain.and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|source| read_error(&files.certificate, source))?;
        let certificate = chain.first().cloned();
        let certificate = certificate.ok_or_else(|| TlsError::NoCertificate {
            path: files.certificate.clone(),
        })?;
        let key = PrivateKeyDer::from_pem_file(&files.key);
        let key = key.map_err(|source| read_error(&files.key, source))?;
        let unfit = |source| TlsError::Unfit { source };
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unfit)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unfit)?;
        ParsedCertificate::try_from(&certificate).map_err(unfit)?;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate,
        })
    }

    /// Whether the certificate is valid for the name in a `Host`. A page whose host was rebound to this server has another name.
    pub(crate) fn is_for_host(&self, host: &str) -> bool {
        let name = match host.parse::<SocketAddr>() {
            Ok(address) => address.ip().to_string(),
            Err(_) => host
                .rsplit_once(':')
                .map_or(host, |(name, _)| name)
                .trim_matches(['[', ']'])
                .to_owned(),
        };
        let Ok(certificate) = ParsedCertificate::try_from(&self.certificate) else {
            return false;
        };
        ServerName::try_from(name).is_ok_and(|name| verify_server_name(&certificate, &name).is_ok())
    }

    /// The handshake with a client.
    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        match timeout(HANDSHAKE_TIME, self.acceptor.accept(stream)).await {
            Ok(accepted) => accepted,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

fn read_error(path: &Path, source: rustls::pki_types::pem::Error) -> TlsError {
    TlsError::Read {
        path: path.to_owned(),
        source,
    }
}
