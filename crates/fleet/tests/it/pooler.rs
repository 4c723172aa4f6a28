//! A pooler between us and `PostgreSQL` that drops notifications, as `PgBouncer` does in transaction mode.

use lapidary_fleet::{FleetStore as _, PostgresStore, StoreAddress, StoreChanges};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{TestStore, claim_one, complete, done, submit, ticket, worker};

/// The type of the server's message that carries a notification.
const NOTIFICATION: u8 = b'A';

/// Passes all but notifications from the server to the client. A message is its type, its length (which counts itself), its body.
async fn pass_answers(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
) -> std::io::Result<()> {
    loop {
        let kind = server.read_u8().await?;
        let length = server.read_u32().await?;
        let mut body = vec![0; length as usize - 4];
        server.read_exact(&mut body).await?;
        if kind != NOTIFICATION {
            client.write_u8(kind).await?;
            client.write_u32(length).await?;
            client.write_all(&body).await?;
        }
    }
}

/// Starts the pooler in front of the server at this port. Returns its own port.
async fn start_pooler(server: u16) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
            let (answers, mut requests) = server.into_split();
            let (mut asked, client) = client.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut asked, &mut requests).await });
            tokio::spawn(pass_answers(answers, client));
        }
    });
    port
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
)]
async fn behind_a_pooler_that_drops_notifications_a_listener_polls() {
    let test = TestStore::postgres().await;
    let url = test.address.to_string();
    let (before, database) = url.rsplit_once('/').unwrap();
    let (host, port) = before.rsplit_once(':').unwrap();
    let port = start_pooler(port.parse().unwrap()).await;
    let address = format!("{host}:{port}/{database}");
    let address = StoreAddress::parse(&address, std::path::Path::new("/")).unwrap();
    let StoreAddress::Postgres(address) = address else {
        unreachable!("it is PostgreSQL");
    };
    let store = PostgresStore::open(&address).await.unwrap();
    let mut listener = store.listen().await.unwrap();
    assert!(!listener.is_live());
    assert_eq!(listener.next().await, StoreChanges::everything());
    let worker = worker(&store).await;
    submit(&*test.store, &ticket("x")).await;
    let claimed = claim_one(&store, &worker).await;
    assert_eq!(
        complete(&store, &claimed).await,
        done("completed", "end_turn")
    );
}
