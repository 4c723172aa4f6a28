//! The address of a `PostgreSQL` database, and its protection.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::StoreAddressError;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long sent data may stay without an acknowledgement: a partition is noticed after this time.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(15);

/// A `PostgreSQL` database.
#[derive(Clone, PartialEq)]
pub struct PostgresAddress {
    pub(super) config: Config,
    /// The certificates to trust instead of the system's.
    pub(super) root_certificates: Option<PathBuf>,
    /// Whether the connection is encrypted and the server proves its name.
    pub(super) uses_tls: bool,
}

impl PostgresAddress {
    /// Reads a URL. We read `sslmode` and `sslrootcert`: a server on another machine must prove its name in every mode.
    pub(crate) fn parse(text: &str, here: &Path) -> Result<Self, StoreAddressError> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let mut mode = None;
        let mut root_certificates = None;
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value.to_owned()),
                Some(("sslrootcert", value)) => {
                    root_certificates = Some(here.join(decode_percent(value)));
                }
                _ => others.push(pair),
            }
        }
        let url = if others.is_empty() {
            base.to_owned()
        } else {
            format!("{base}?{}", others.join("&"))
        };
        let config = Config::from_str(&url);
        // The driver's message may quote the URL, and with it the password: only its last cause is ours to show.
        let mut config = config.map_err(|error| StoreAddressError::Postgres {
            reason: parse_reason(&error),
        })?;
        let uses_tls = tls_use(&config, mode.as_deref())?;
        config.ssl_mode(if uses_tls {
            SslMode::Require
        } else {
            SslMode::Disable
        });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.tcp_user_timeout(SILENCE_TIMEOUT);
        config.keepalives_idle(SILENCE_TIMEOUT);
        if config.get_application_name().is_none() {
            config.application_name("lapidary");
        }
        Ok(Self {
            config,
            root_certificates,
            uses_tls,
        })
    }
}

fn parse_reason(error: &tokio_postgres::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    let reason = source.unwrap_or_else(|| "wrong syntax".to_owned());
    // Values are quoted in backticks by the driver.
    match reason.split_once('`') {
        Some((before, _)) => format!("{}…", before.trim_end()),
        None => reason,
    }
}

fn tls_use(config: &Config, mode: Option<&str>) -> Result<bool, StoreAddressError> {
    let far = config.get_hosts().iter().find(|host| !is_local(host));
    match (mode, far) {
        (None, far) => Ok(far.is_some()),
        (Some("require" | "verify-ca" | "verify-full"), _) => Ok(true),
        (Some("disable" | "allow" | "prefer"), None) => Ok(false),
        (Some(mode @ ("disable" | "allow" | "prefer")), Some(host)) => {
            Err(StoreAddressError::Unprotected {
                host: host_text(host),
                mode: mode.to_owned(),
            })
        }
        (Some(_), _) => Err(StoreAddressError::Postgres {
            reason: "`sslmode` is `disable`, `require` or `verify-full`".to_owned(),
        }),
    }
}

fn is_local(host: &Host) -> bool {
    match host {
        #[cfg(unix)]
        Host::Unix(_) => true,
        Host::Tcp(name) if name == "localhost" => true,
        Host::Tcp(name) => {
            let name = name.trim_matches(['[', ']']);
            name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
    }
}

fn host_text(host: &Host) -> String {
    match host {
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
        Host::Tcp(name) => name.clone(),
    }
}

fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let code = code.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let (b'%', Some(code)) = (first, code) {
            bytes.push(code);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The URL without password and options.
impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        let ports = self.config.get_ports();
        for (place, host) in self.config.get_hosts().iter().enumerate() {
            if place > 0 {
                f.write_str(",")?;
            }
            f.write_str(&host_text(host))?;
            let port = ports.get(place).or_else(|| ports.first());
            if let Some(port) = port.filter(|port| **port != 5432) {
                write!(f, ":{port}")?;
            }
        }
        if let Some(database) = self.config.get_dbname() {
            write!(f, "/{database}")?;
        }
        Ok(())
    }
}

/// Without the password.
impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({self})")
    }
}
