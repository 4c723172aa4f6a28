//! Captures, corpora and fuzz targets for the tests.

pub mod fuzz;
pub mod mutate;
