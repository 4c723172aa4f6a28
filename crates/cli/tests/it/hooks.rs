//! `lapidary hooks`.

mod test;
