//! The store: one suite over `PostgreSQL` and `SQLite`, faults of each, and several claimers at once.
#![cfg(target_os = "linux")] // other systems are compiled, but not tested
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod bad_stores;
mod claims;
mod conformance;
mod crowd;
mod idle;
mod logs;
mod modules;
mod orders;
mod pooler;
mod roles;
mod submissions;
mod support;
mod tls;
