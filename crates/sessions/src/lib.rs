//! Recorded sessions: where they are, what is in them, which of them can be resumed.
//!
//! Everything is read as Gemini CLI 0.61 reads it, so that numbers, titles and order are the ones it shows. Nothing here writes,
//! except what is for deleting; and nothing that is left out is left out without a [`HiddenReason`].
//!
//! ```no_run
//! use lapidary_gemini::GeminiHome;
//! use lapidary_sessions::{Listing, Store};
//!
//! let store = Store::new(GeminiHome::at("/home/somebody"));
//! let project = store.project("/home/somebody/work".as_ref());
//! let listing = Listing::of(&[project], std::time::SystemTime::now());
//! for session in &listing.sessions {
//!     println!("{}. {}", session.index(), session.info().display_name);
//! }
//! ```

pub mod redact;

mod adopt;
mod age;
mod artefacts;
mod candidates;
mod delete;
#[cfg(feature = "index")]
mod index;
mod inventory;
mod listing;
mod names;
mod only_in_vault;
mod prices;
mod projects;
mod provider;
mod retention;
mod scan;
pub mod search;
mod select;
mod speech;
mod stats;
pub mod vault;

pub use adopt::adopt;
pub use age::age;
pub use artefacts::{Artefact, ArtefactKind, Artefacts};
pub use candidates::{Candidate, candidates, session_file};
pub use delete::{DeleteError, Deletion, Keep};
#[cfg(feature = "index")]
pub use index::{Index, IndexError, Progress, Updated};
pub use inventory::{Content, Held, Inventory};
pub use lapidary_vocab::session::{
    HiddenFile, HiddenReason, SessionInfo, TextMatch, UnlistedPlace,
};
pub use listing::{FromFiles, Listed, Listing, Summaries};
pub use only_in_vault::OnlyInVault;
pub use prices::{Price, PriceError, Prices, price};
pub use projects::{Project, Store, project_hash, slug};
pub use provider::{
    GeminiSessions, OtherSession, OtherSessions, ProjectPlaces, ProjectReach, ProviderCapabilities,
    ProviderScope, ReplaySessionError, SessionAbility, SessionProvider, SessionProviders,
    UnsupportedOperation,
};
pub use retention::{Expired, Expiring, Limits, Period, Retention, RetentionError, Why};
pub use scan::{CompactSummary, Scanner, Summary, Unreadable};
pub use select::{SelectError, Selection, is_id_prefix, select};
pub use speech::{headline, is_resumable, says, title};
pub use stats::{StatsRequest, stats, stats_with};
