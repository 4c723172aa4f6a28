//! `lapidary skills`.

mod addresses;
mod cases;
mod clones;
mod commands;
mod hostile;
mod interrupted;
mod large;
mod many;
mod peers;
mod refusals;
mod settings;
mod stage;
