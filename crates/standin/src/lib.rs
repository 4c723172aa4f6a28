//! Scripted stand-ins that ship with the product: a fake model API on loopback, and the replayed agent.

pub mod demo;
