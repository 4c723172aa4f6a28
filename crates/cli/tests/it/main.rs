//! The command as its users meet it: the real binary, its exit codes, what it prints where.

mod bad_input;
mod examples;
mod golden;
mod help;
mod streaming;
mod support;
mod usage;
