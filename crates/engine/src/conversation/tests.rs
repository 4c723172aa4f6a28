//! Conversations of a client with an agent that runs in the test: no process is started, and tests wait only for lines.

mod agent;
mod answers;
mod client;
mod elicitations;
mod interrupts;
mod permissions;
mod prompts;
mod sessions;
mod settings;
#[cfg(unix)]
mod submissions;
