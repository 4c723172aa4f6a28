//! `lapidary skills`.

mod addresses;
mod cases;
mod commands;
mod hostile;
mod interrupted;
mod many;
mod peers;
mod refusals;
mod stage;
