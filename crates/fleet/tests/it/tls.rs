//! TLS to `PostgreSQL`: a server that proves its name is used, another one is not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use lapidary_fleet::{StoreAddress, StoreError};
use lapidary_testkit::postgres::{PostgresServer, PostgresStop};

use crate::support::{submit, ticket};

fn certificate(name: &str) -> PathBuf {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../native/tests/certificates");
    PathBuf::from(directory).join(name)
}

/// A server with a certificate for `localhost`.
fn tls_server() -> PostgresServer {
    let server = PostgresServer::start(&[]);
    let data = server.directory().join("data");
    for name in ["server.pem", "server.key"] {
        let file = data.join(name);
        fs::copy(certificate(name), &file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        server.give(&file);
    }
    let settings = "ssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'\n";
    let file = data.join("postgresql.auto.conf");
    fs::write(&file, settings).unwrap();
    server.give(&file);
    server.stop(PostgresStop::Fast);
    server.resume();
    server
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn a_server_must_prove_its_name() {
    let server = tokio::task::spawn_blocking(tls_server).await.unwrap();
    let authority = certificate("authority.pem");
    let address = |host: &str, authority: &Path| {
        let url = server.url().replace("127.0.0.1", host);
        let url = format!(
            "{url}?sslmode=verify-full&sslrootcert={}",
            authority.display()
        );
        StoreAddress::parse(&url, Path::new("/")).unwrap()
    };
    let trusted = address("localhost", &authority);
    trusted.initialise().await.unwrap();
    let store = trusted.open().await.unwrap();
    submit(&*store, &ticket("x")).await;
    assert!(store.listen().await.unwrap().is_live());
    let stranger = address("127.0.0.1", &authority).open().await.unwrap_err();
    assert!(
        matches!(stranger, StoreError::Unavailable { .. }),
        "{stranger}"
    );
    assert!(stranger.to_string().contains("certificate"), "{stranger}");
}
