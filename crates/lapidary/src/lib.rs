//! Lapidary as a library.
pub use lapidary_normalize as normalize;
pub use lapidary_render as render;
pub use lapidary_vocab as vocab;
pub use lapidary_wire as wire;
