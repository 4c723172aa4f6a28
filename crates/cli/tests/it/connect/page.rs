//! `docs/connect.md` says what is so.
