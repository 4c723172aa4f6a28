//! `sessions vault`.
