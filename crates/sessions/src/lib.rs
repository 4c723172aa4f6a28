//! Recorded sessions: their places, their contents, and which of them can be resumed.
//!
//! Everything is read as Gemini CLI 0.61 reads it, so that numbers, titles and order are the ones it shows. Only deleting and
//! the files of our own sub-agents write here, and each skipped file has a [`HiddenReason`].
//!
//! ```no_run
//! use lapidary_gemini::GeminiHome;
//! use lapidary_sessions::{SessionListing, SessionStore};
//!
//! let store = SessionStore::new(GeminiHome::at("/home/me"));
//! let project = store.project("/home/me/project".as_ref());
//! let listing = SessionListing::read(&[project], std::time::SystemTime::now());
//! for session in &listing.sessions {
//!     println!("{}. {}", session.index(), session.info().display_name);
//! }
//! ```

pub mod redact;

mod adopt;
mod age;
mod agent_summary;
mod agent_transcripts;
mod artefacts;
mod by_hash;
mod candidates;
mod claude;
mod codex;
mod content_facts;
mod delete;
mod duplicates;
#[cfg(feature = "index")]
mod index;
mod inventory;
mod line_head;
mod line_source;
mod listing;
mod message_text;
mod names;
mod only_in_vault;
mod opencode;
mod packed_summary;
mod prices;
mod projects;
mod provider;
mod provider_scope;
mod qwen;
mod replay_error;
mod retention;
mod scan;
pub mod search;
mod select;
mod session_memory;
mod session_providers;
mod session_rows;
mod stats;
mod store_files;
mod stored_sessions;
mod subagent_chats;
mod subagent_files;
mod sweep;
mod times;
mod unpacked;
mod usage_lines;
mod usage_notes;
pub mod vault;

pub use adopt::adopt;
pub use age::age;
pub use agent_transcripts::AgentTranscriptFiles;
pub use artefacts::{ArtefactKind, ArtefactList, SessionArtefact};
pub use candidates::{
    DirectoryMemory, DirectoryNames, DirectoryState, SessionCandidate, candidates, session_file,
};
pub use claude::{ClaudePrompt, ClaudeSessions, ForgottenSession};
pub use codex::CodexSessions;
pub use delete::{DeleteError, KeepBefore, SessionDeletion};
#[cfg(feature = "index")]
pub use index::{IndexError, OtherFiles, SessionIndex, UpdateProgress, UpdateResult};
pub use inventory::{FileContent, InventoriedFile, SessionInventory};
pub use lapidary_vocab::session::{
    HiddenFile, HiddenReason, SessionInfo, TextMatch, UnlistedPlace,
};
pub use line_source::SessionLines;
pub use listing::{FromFiles, ListedSession, SessionListing, SummarySource};
pub use message_text::{headline, is_resumable, says, title};
pub use only_in_vault::OnlyInVault;
pub use opencode::{OpencodeSessions, opencode_file_events};
pub use prices::{ModelPrice, PriceError, PriceTable, price};
pub use projects::{SessionProject, SessionStore, project_hash, slug};
pub use provider::{
    GeminiSessions, OtherSession, OtherSessions, ProviderCapabilities, RawReplay, SessionAbility,
    SessionProvider, UnsupportedOperation, UsageFile, UsageFiles, UsageReader, VaultFolder,
    VaultSource, file_counts,
};
pub use provider_scope::{ProjectPlaces, ProjectReach, ProviderScope, WantedDirectories};
pub use qwen::QwenSessions;
pub use replay_error::ReplaySessionError;
pub use retention::{
    ExpiredSession, ExpiringItem, ExpiryReason, RetentionError, RetentionLimits, RetentionPeriod,
    RetentionRules,
};
pub use scan::{CompactSummary, FileScanner, FileSummary, UnreadableFile};
pub use select::{SelectError, SelectionMode, is_id_prefix, select};
pub use session_memory::SessionMemory;
pub use session_providers::SessionProviders;
pub use stats::{StatsRequest, stats, stats_with};
pub use stored_sessions::{ListMemory, StoredSessions};
pub use subagent_chats::{SubagentChat, SubagentChats};
pub use subagent_files::SubagentFiles;
pub use sweep::ByteFilter;
pub use unpacked::unpacked;
pub use usage_notes::UsageNotes;
