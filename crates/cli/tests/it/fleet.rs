//! Fleets from their users' side: workspaces, workers, chaos.

mod bad_input;
mod both_stopped;
mod chaos;
mod processes;
mod work;
mod worker_process;
mod workspace;
