//! `lapidary skills`.

mod addresses;
mod cases;
mod change_reports;
mod clones;
mod commands;
mod hostile;
mod interrupted;
mod large;
mod many;
mod missing;
mod narrow;
mod peers;
mod refusals;
mod settings;
mod severity;
mod stage;
