//! From an agent's words to ours.
