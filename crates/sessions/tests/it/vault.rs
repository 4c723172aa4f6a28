//! The vault: no content of a session is lost, for any change of the files.

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
