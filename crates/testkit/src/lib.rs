//! Test support for several crates: captures of real agents with golden files beside them, the real agents themselves, attacks
//! and fuzz targets.

pub mod a2a;
pub mod acp;
#[cfg(feature = "checks")]
pub mod acp_schema;
#[cfg(feature = "checks")]
pub mod attacks;
pub mod captures;
#[cfg(feature = "checks")]
pub mod fuzz;
pub mod gemini;
pub mod golden;
pub mod mutate;
pub mod patience;
#[cfg(target_os = "linux")]
pub mod postgres;
pub mod raw_server;
pub mod recorded;
pub mod secrets;
pub mod sessions;
pub mod shown_commands;
pub mod tcp_proxy;
pub mod ways;
#[cfg(target_os = "linux")]
pub mod work;
