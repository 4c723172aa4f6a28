//! The certificates that are trusted: the system's or a given file's, else Mozilla's, and a company's on top.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::{HttpError, HttpSettings};

/// The TLS configuration. Certificates are files: they are read on a thread that may block.
pub(super) async fn tls_config(settings: &HttpSettings) -> Result<ClientConfig, HttpError> {
    let settings = settings.clone();
    let read = tokio::task::spawn_blocking(move || read_roots(&settings)).await;
    let roots = read.map_err(|error| HttpError::Certificates {
        path: "the system's store".into(),
        reason: error.to_string(),
    })??;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the cipher suites of TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

fn read_roots(settings: &HttpSettings) -> Result<RootCertStore, HttpError> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = &settings.certificate_file {
        add_file(&mut roots, file)?;
    } else {
        let system = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(system.certs);
    }
    // Images without a certificate store exist; Mozilla's list is better than no connection at all.
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for file in &settings.extra_certificates {
        add_file(&mut roots, file)?;
    }
    Ok(roots)
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), HttpError> {
    let error = |reason: String| HttpError::Certificates {
        path: path.to_owned(),
        reason,
    };
    let certificates = CertificateDer::pem_file_iter(path);
    let certificates = certificates.map_err(|cause| error(cause.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|cause| error(cause.to_string()))?;
        roots
            .add(certificate)
            .map_err(|cause| error(cause.to_string()))?;
    }
    Ok(())
}
