//! Confinement by the kernel: agents that try to write elsewhere, real agents that work confined, and what a user is told.

mod bad_input;
mod escapes;
mod explained;
mod linked_worktree;
mod others;
mod protected;
mod real;
