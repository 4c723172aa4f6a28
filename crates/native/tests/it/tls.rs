//! `https`, directly and through the tunnel of a proxy, on loopback. The certificates are made for these tests and valid for a century.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use lapidary_native::http::{HttpClient, HttpError, HttpSettings};
use lapidary_standin::api::{FakeApi, Script};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

fn certificate(name: &str) -> PathBuf {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/certificates");
    PathBuf::from(directory).join(name)
}

/// A server or a proxy that listens until it is dropped.
pub(crate) struct Listener {
    pub(crate) port: u16,
    task: JoinHandle<()>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The server's side of TLS, which offers these protocols. Its certificate is for `localhost`.
pub(crate) fn tls_acceptor(protocols: &[&str]) -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(certificate("server.pem")).unwrap();
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(certificate("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(chain, key);
    let mut config = config.unwrap();
    let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
    config.alpn_protocols = protocols.collect();
    TlsAcceptor::from(Arc::new(config))
}

/// A server that speaks TLS, before a plain one.
pub(crate) async fn tls_before(plain: SocketAddr) -> Listener {
    let acceptor = tls_acceptor(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust us hangs up.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            tokio::spawn(async move {
                let mut plain = TcpStream::connect(plain).await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut plain).await;
            });
        }
    });
    Listener { port, task }
}

/// A proxy that makes tunnels for clients with credentials, and keeps the heads of their requests.
async fn proxy(heads: Arc<Mutex<Vec<String>>>) -> Listener {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            heads.lock().unwrap().push(head.clone());
            // `me:secret` in base64
            if !head
                .to_lowercase()
                .contains("proxy-authorization: basic bwu6c2vjcmv0")
            {
                let refusal =
                    b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
                stream.write_all(refusal).await.unwrap();
                continue;
            }
            let target = head.split(' ').nth(1).unwrap();
            let target = target.replace("localhost", "127.0.0.1");
            let mut server = TcpStream::connect(target).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let _ = copy_bidirectional(&mut stream, &mut server).await;
        }
    });
    Listener { port, task }
}

pub(crate) fn trusting() -> HttpSettings {
    HttpSettings {
        extra_certificates: vec![certificate("authority.pem")],
        // A store of its own, so that the tests do not depend on the system's.
        certificate_file: Some(certificate("server.pem")),
        ..HttpSettings::default()
    }
}

/// The mock API, and the address of its plain port.
async fn api() -> (FakeApi, SocketAddr) {
    let api = FakeApi::start(Script::new().stream("hi")).await.unwrap();
    let address = api.base_url().replace("http://", "");
    let address = address.trim_end_matches('/').parse().unwrap();
    (api, address)
}

async fn post(settings: HttpSettings, host: &str, port: u16) -> Result<u16, HttpError> {
    let client = HttpClient::new(settings).unwrap();
    let url = format!("https://{host}:{port}/v1beta/models/m:streamGenerateContent?alt=sse");
    let body = r#"{"contents": []}"#.to_owned();
    let answer = client
        .post_json(&url, &[("x-goog-api-key", "key")], body)
        .await?;
    Ok(answer.status)
}

#[tokio::test]
async fn a_server_whose_authority_is_trusted_is_asked_over_tls() {
    let (api, plain) = api().await;
    let tls = tls_before(plain).await;
    assert_eq!(post(trusting(), "localhost", tls.port).await, Ok(200));
    assert_eq!(api.requests().len(), 1);
}

#[tokio::test]
async fn a_server_with_an_unknown_authority_or_another_name_gets_no_request() {
    let (api, plain) = api().await;
    let tls = tls_before(plain).await;
    let untrusting = HttpSettings {
        extra_certificates: Vec::new(),
        ..trusting()
    };
    for (settings, host) in [(untrusting, "localhost"), (trusting(), "127.0.0.1")] {
        let error = post(settings, host, tls.port).await.unwrap_err();
        let HttpError::Connect { reason, .. } = &error else {
            panic!("{error:?}")
        };
        assert!(reason.contains("certificate"), "{reason}");
    }
    assert_eq!(api.requests().len(), 0);
}

#[tokio::test]
async fn a_tunnel_hides_the_request_from_the_proxy() {
    let (api, plain) = api().await;
    let tls = tls_before(plain).await;
    let heads = Arc::new(Mutex::new(Vec::new()));
    let proxy = proxy(Arc::clone(&heads)).await;
    let through = |credentials: &str, no_proxy: &str| HttpSettings {
        https_proxy: Some(format!("http://{credentials}127.0.0.1:{}", proxy.port)),
        no_proxy: Some(no_proxy.to_owned()),
        ..trusting()
    };
    let tunnelled = through("me:secret@", "");
    assert_eq!(post(tunnelled, "localhost", tls.port).await, Ok(200));
    let head = heads.lock().unwrap().pop().unwrap();
    assert!(
        head.starts_with(&format!("CONNECT localhost:{} ", tls.port)),
        "{head}"
    );
    assert!(!head.contains("key"), "{head}");
    let requests = api.requests();
    assert!(!requests[0].headers.contains_key("proxy-authorization"));
    let refused = post(through("", ""), "localhost", tls.port).await;
    assert!(
        matches!(refused, Err(HttpError::Connect { .. })),
        "{refused:?}"
    );
    heads.lock().unwrap().clear();
    let direct = through("me:secret@", "localhost");
    assert_eq!(post(direct, "localhost", tls.port).await, Ok(200));
    assert_eq!(heads.lock().unwrap().len(), 0, "the host is exempt");
}
