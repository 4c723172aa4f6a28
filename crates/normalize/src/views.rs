//! The other vocabularies, as folds over events.
//!
//! A fold takes events of any agent, live or from a file, and cannot fail. Events that a vocabulary has no place for are counted,
//! so that the caller can report them. Fold streams that were made with [`DeltaMode::Only`](crate::DeltaMode) or `Final`: with
//! `Both` the same words come twice, and a fold cannot tell.

pub mod activity;
pub mod messages;
pub mod progress;
pub mod result;
pub mod runtime;
