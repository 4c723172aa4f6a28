//! Remote agents: a client of the A2A protocol, versions 0.3 and 1.0, over JSON-RPC and HTTP+JSON.
//!
//! A card is fetched at the first use and kept. Credentials go to the origin of the card's URL and to no other, never to a redirect, and
//! over plain `http` only to this machine. A task that is given up is cancelled on its server.

mod agent;
mod auth;
mod card;
mod card_check;
mod error;
mod link;
mod means;
mod result_text;

pub use agent::{RemoteAgent, RemoteAnswer, RemotePrompt};
pub use auth::{CredentialSource, credential_variables};
pub use card::{RemoteCard, RemoteInterface, RemoteSkill};
pub use card_check::{CheckedCard, check_cards};
pub use error::RemoteError;
pub use means::{RemoteLimits, RemoteMeans};
