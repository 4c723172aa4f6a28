//! The view as a terminal shows it: the bytes go through a model of a terminal, and the tests compare its screen.

mod anything;
mod golden;
mod motion;
mod terminal;
