//! Scripted stand-ins that ship with the product: a model API on loopback with scripted answers, the actions that a model attempts
//! in the words of each agent's tools, and the script of `--agent demo`.
//!
//! A real agent cannot tell [`FakeApi`](api::FakeApi) from the real thing, which is how `lapidary doctor --prove` shows that a whole
//! installation works without an account, and how our tests see real agents meet every kind of trouble.

pub mod api;
pub mod attempt;
pub mod demo;
