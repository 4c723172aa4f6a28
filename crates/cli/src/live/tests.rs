//! The view as a terminal shows it: the bytes go through a terminal's model, and what is on its screen is compared.

mod anything;
mod golden;
mod motion;
mod terminal;
