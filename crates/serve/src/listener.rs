//! The address that the server listens on.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// The address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// A port of this machine.
    Tcp(SocketAddr),
    /// A socket file, for programs of this user.
    Unix(PathBuf),
}

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListenAddressError {
    /// It is neither an address nor a socket file.
    #[error("invalid address `{0}`: use `127.0.0.1:7717` or `unix:PATH`")]
    Invalid(String),
    /// A socket file needs no TLS.
    #[error("a socket file speaks no TLS")]
    TlsOnSocketFile,
    /// Other machines could reach it.
    #[error("`{0}` can be reached from other machines")]
    BeyondThisMachine(SocketAddr),
}

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || ListenAddressError::Invalid(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(invalid()),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let text = text
            .strip_prefix("localhost:")
            .map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
        let address: SocketAddr = text.parse().map_err(|_| invalid())?;
        Ok(Self::Tcp(address))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl ListenAddress {
    /// Refuses an address that other machines reach, unless the connection to them is encrypted: by the server itself, or by a proxy.
    pub(crate) fn check_reach(
        &self,
        has_tls: bool,
        has_proxy: bool,
    ) -> Result<(), ListenAddressError> {
        match self {
            Self::Unix(_) if has_tls => Err(ListenAddressError::TlsOnSocketFile),
            Self::Tcp(address) if !(is_loopback(*address) || has_tls || has_proxy) => {
                Err(ListenAddressError::BeyondThisMachine(*address))
            }
            Self::Unix(_) | Self::Tcp(_) => Ok(()),
        }
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_port_or_a_socket_file() {
        let read = |text: &str| text.parse::<ListenAddress>().map(|it| it.to_string());
        assert_eq!(read("127.0.0.1:7717").unwrap(), "127.0.0.1:7717");
        assert_eq!(read("localhost:80").unwrap(), "127.0.0.1:80");
        assert_eq!(read("[::1]:80").unwrap(), "[::1]:80");
        assert_eq!(read("unix:/run/x").unwrap(), "unix:/run/x");
        for text in ["", "7717", "unix:", "example.org:80", "127.0.0.1:70000"] {
            let error = ListenAddressError::Invalid(text.to_owned());
            assert_eq!(read(text).unwrap_err(), error);
        }
    }

    #[test]
    fn an_address_beyond_this_machine_needs_tls_or_a_proxy() {
        for (text, is_own) in [
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("[::1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("192.0.2.1:1", false),
        ] {
            let address = ListenAddress::Tcp(text.parse().unwrap());
            assert_eq!(address.check_reach(false, false).is_ok(), is_own, "{text}");
            assert!(address.check_reach(true, false).is_ok(), "{text}");
            assert!(address.check_reach(false, true).is_ok(), "{text}");
        }
    }
}
