//! The vault: nothing that was in a session is lost, whatever happens to the files.

mod agents;
mod bad_input;
mod broken;
mod chats;
mod crash;
mod full_disk;
mod guard;
mod held;
mod kept;
mod live;
mod many;
mod properties;
mod prune;
mod real;
mod recover;
mod store;
mod waiting;
