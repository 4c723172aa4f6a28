//! What the tests of several crates share: captures of real agents, and golden files beside them.

pub mod captures;
pub mod golden;
