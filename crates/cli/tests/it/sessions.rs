//! `sessions`: the verbs.

mod browse;
mod browse_many;
mod pty;
