//! No bridge: agents hand over their answers as text here.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// One connected bridge. There is none on Windows.
pub type BridgeStream = tokio::io::DuplexStream;

/// Accepts bridges at a socket. There is none on Windows.
#[derive(Debug)]
pub struct BridgeListener(());

impl BridgeListener {
    /// Fails on Windows.
    ///
    /// # Errors
    /// Always.
    pub fn bind(_: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Fails on Windows.
    ///
    /// # Errors
    /// Always.
    pub async fn accept(&self) -> io::Result<BridgeStream> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The arguments with which this program would be a bridge to a socket.
pub fn bridge_arguments(socket: &Path) -> [OsString; 2] {
    [OsString::new(), socket.as_os_str().to_owned()]
}

/// Does nothing on Windows, where there is no bridge. On Unix `main` calls this first.
pub fn run_if_asked(_: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    None
}
