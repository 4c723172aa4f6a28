//! What the tests of several crates share: captures of real agents with golden files beside them, the real agents themselves,
//! attacks and fuzz targets.

pub mod acp;
pub mod acp_schema;
pub mod attacks;
pub mod captures;
pub mod fuzz;
pub mod gemini;
pub mod golden;
pub mod mutate;
pub mod recorded;
