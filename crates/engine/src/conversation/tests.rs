//! Conversations of a client with an agent that runs in the test: nothing is started, and nothing is waited for but what is said.

mod agent;
mod client;
mod elicitations;
mod interrupts;
mod permissions;
mod prompts;
mod sessions;
mod settings;
