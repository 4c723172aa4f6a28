//! How a run is configured: by a file, by flags, by a program.
