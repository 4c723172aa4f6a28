//! The Agent Client Protocol: JSON-RPC 2.0, one message a line, in both directions.
//!
//! Protocol v1 as its schema has it, plus the shapes that `specs/2` has instead. Every field is a token that may be missing or of
//! another type than documented.

pub mod envelope;
pub mod results;
pub mod sides;
pub mod tool_call;
pub mod transcript;
pub mod update;
