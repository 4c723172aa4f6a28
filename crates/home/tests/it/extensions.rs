//! Extensions: what is installed, what counts, and what is in them.
