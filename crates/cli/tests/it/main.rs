//! The command as its users run it.

mod golden;
