//! What the tests of several crates share: captures of real agents with golden files beside them, attacks and fuzz targets.

pub mod attacks;
pub mod captures;
pub mod fuzz;
pub mod golden;
pub mod mutate;
