//! Agent definitions.

mod upstream;
