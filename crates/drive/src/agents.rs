//! The agents we know: how each is started, and what it can do.
