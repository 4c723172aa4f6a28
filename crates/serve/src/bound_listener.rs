//! The socket that the server listens on, and its connections.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};

use crate::listener::ListenAddress;

#[derive(Debug)]
pub(crate) enum BoundListener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// The bytes of a connection.
pub(crate) trait AcceptedConnection: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> AcceptedConnection for T {}

impl BoundListener {
    /// Binds an address. Returns the port that was chosen, too; a socket file has none.
    pub(crate) async fn bind(wanted: &ListenAddress) -> io::Result<(Self, Option<SocketAddr>)> {
        match wanted {
            ListenAddress::Tcp(address) => {
                let listener = TcpListener::bind(address).await?;
                let bound = listener.local_addr()?;
                Ok((Self::Tcp(listener), Some(bound)))
            }
            ListenAddress::Unix(path) => {
                let listener = bind_socket_file(path).await?;
                only_for_the_user(path)?;
                Ok((Self::Unix(listener, path.clone()), None))
            }
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<Box<dyn AcceptedConnection>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
            Self::Unix(listener, _) => Ok(Box::new(listener.accept().await?.0)),
        }
    }
}

/// Binds a socket file. One that a killed server has left is replaced: no process listens on it any more.
async fn bind_socket_file(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_stale(path).await => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }
}

/// Whether a file is a socket on which no process listens. Another file is not ours to replace.
async fn is_stale(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).await.is_err_and(refused)
}

fn only_for_the_user(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_file_that_no_process_listens_on_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let address = ListenAddress::Unix(path.clone());
        let first = BoundListener::bind(&address).await.unwrap();
        let taken = BoundListener::bind(&address).await.unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        drop(first); // as a kill leaves it: the file stays
        assert!(path.exists());
        BoundListener::bind(&address).await.unwrap();
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes");
        std::fs::write(&path, "mine").unwrap();
        let address = ListenAddress::Unix(path.clone());
        BoundListener::bind(&address).await.unwrap_err();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
