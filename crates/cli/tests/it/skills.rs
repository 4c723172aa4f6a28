//! `lapidary skills`.

mod cases;
mod commands;
mod hostile;
mod many;
mod peers;
mod stage;
