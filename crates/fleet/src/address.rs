//! Where a store is: `postgres://…` or `sqlite:PATH`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::postgres::{PostgresAddress, PostgresStore};
use crate::{FleetStore, SqliteStore, StoreFuture};

/// The address of a store. It may have a password, which is not shown.
#[derive(Clone, PartialEq)]
pub enum StoreAddress {
    /// A `SQLite` file, for one machine.
    Sqlite(PathBuf),
    /// A `PostgreSQL` database, for many.
    Postgres(Box<PostgresAddress>),
}

/// A text that is no address of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreAddressError {
    /// Neither `PostgreSQL` nor `SQLite`.
    #[error("`{text}` is not the address of a store")]
    UnknownScheme {
        /// The text up to its scheme.
        text: String,
    },
    /// `sqlite:` without a path.
    #[error("`sqlite:` has no path")]
    NoPath,
    /// `PostgreSQL`'s part cannot be read.
    #[error("the PostgreSQL address cannot be read: {reason}")]
    Postgres {
        /// The reason, without the password.
        reason: String,
    },
    /// A host other than this machine, without TLS: prompts and passwords would be readable on the network.
    #[error("`{host}` is another machine, and `sslmode={mode}` does not protect the connection")]
    Unprotected {
        /// The host.
        host: String,
        /// The mode.
        mode: String,
    },
}

impl StoreAddressError {
    /// The next step for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownScheme { .. } | Self::NoPath | Self::Postgres { .. } => {
                "use `postgres://USER@HOST/DATABASE` or `sqlite:PATH`"
            }
            Self::Unprotected { .. } => {
                "leave `sslmode` out, and name your own CA with `sslrootcert=FILE` if you have one"
            }
        }
    }
}

impl StoreAddress {
    /// Reads an address. A relative path of `SQLite` counts from `here`.
    pub fn parse(text: &str, here: &Path) -> Result<Self, StoreAddressError> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path {
                "" => Err(StoreAddressError::NoPath),
                path => Ok(Self::Sqlite(here.join(path))),
            };
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(Box::new(PostgresAddress::parse(
                text, here,
            )?)));
        }
        // The rest may be a secret.
        let text = text.split([':', '/', '@', '?']).next().unwrap_or_default();
        let text = text.chars().take(40).collect();
        Err(StoreAddressError::UnknownScheme { text })
    }

    /// Opens the store. A `SQLite` file is made if it is not there; `PostgreSQL` needs [`Self::initialise`] once.
    pub fn open(&self) -> StoreFuture<'_, Arc<dyn FleetStore>> {
        Box::pin(async move {
            Ok(match self {
                Self::Sqlite(path) => {
                    Arc::new(SqliteStore::open(path).await?) as Arc<dyn FleetStore>
                }
                Self::Postgres(address) => Arc::new(PostgresStore::open(address).await?),
            })
        })
    }

    /// Makes the tables, or updates them. Returns the versions that it applied.
    pub fn initialise(&self) -> StoreFuture<'_, Vec<i64>> {
        Box::pin(async move {
            match self {
                Self::Sqlite(path) => SqliteStore::initialise(path).await,
                Self::Postgres(address) => PostgresStore::initialise(address).await,
            }
        })
    }

    /// The SQL that [`Self::initialise`] runs on an empty database.
    pub fn initial_sql(&self) -> String {
        match self {
            Self::Sqlite(_) => crate::sqlite::initial_sql(),
            Self::Postgres(_) => crate::postgres::initial_sql(),
        }
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(address) => address.fmt(f),
        }
    }
}

/// Without the password.
impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<StoreAddress, StoreAddressError> {
        StoreAddress::parse(text, Path::new("/here"))
    }

    #[test]
    fn a_relative_path_counts_from_the_directory() {
        assert_eq!(
            parse("sqlite:a.db").unwrap().to_string(),
            "sqlite:/here/a.db"
        );
        assert_eq!(parse("sqlite:///b.db").unwrap().to_string(), "sqlite:/b.db");
    }

    #[test]
    fn a_password_is_not_shown() {
        let address = parse("postgres://ann:secret@127.0.0.1:5433/fleet").unwrap();
        assert_eq!(address.to_string(), "postgres://ann@127.0.0.1:5433/fleet");
        assert_eq!(
            format!("{address:?}"),
            "StoreAddress(postgres://ann@127.0.0.1:5433/fleet)"
        );
        for wrong in ["mysql:secret@host/db", "postgres://ann:secret@host:x/db"] {
            assert!(
                !parse(wrong).unwrap_err().to_string().contains("secret"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn another_machine_without_tls_is_refused() {
        for mode in ["disable", "allow", "prefer"] {
            let text = format!("postgres://ann@db.example.org/fleet?sslmode={mode}");
            let error = parse(&text).unwrap_err();
            assert!(
                matches!(error, StoreAddressError::Unprotected { .. }),
                "{error}"
            );
        }
        for text in [
            "postgres://ann@db.example.org/fleet",
            "postgres://ann@db.example.org/fleet?sslmode=verify-full",
            "postgres://ann@localhost/fleet?sslmode=disable",
            "postgres://ann@%2Frun%2Fpostgresql/fleet",
        ] {
            assert!(parse(text).is_ok(), "{text}");
        }
    }
}
