//! The translation, from lines to every vocabulary.

mod paired;
mod properties;
