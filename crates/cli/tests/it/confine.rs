//! Confinement by the kernel: agents that try to write outside the workspace, real agents that work confined, and the messages
//! for the user.

mod bad_input;
mod escapes;
mod explained;
mod linked_worktree;
mod others;
mod protected;
mod real;
