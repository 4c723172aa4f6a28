//! `sessions recover`.
