//! Tests of the kit itself, and the fuzz targets on stable.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod acp_schema;
mod replay;
