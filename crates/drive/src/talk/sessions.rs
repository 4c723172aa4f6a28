//! The sessions of a conversation: what each offers, and whether its turn was cancelled.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lapidary_json::Token;
use lapidary_normalize::Stopped;
use lapidary_vocab::Json;
use tokio_util::sync::CancellationToken;

use crate::acp::{Modes, OpenedSession};

/// The sessions that were opened.
#[derive(Debug, Default)]
pub(super) struct Sessions(BTreeMap<String, Session>);

/// One of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    /// Where it works.
    pub(super) cwd: PathBuf,
    pub(super) modes: Option<Modes>,
    pub(super) config_options: Option<Json>,
    /// Ends what waits for an answer in this turn.
    pub(super) cancelled: CancellationToken,
    /// Which hook wanted this turn to stop, and why.
    pub(super) stopped: Option<Stopped>,
    /// How many prompts are unanswered.
    pub(super) prompts: usize,
}

impl Sessions {
    pub(super) fn opened(&mut self, opened: &OpenedSession, cwd: &Path) {
        let session = self.0.entry(opened.id.clone()).or_default();
        cwd.clone_into(&mut session.cwd);
        session.modes = opened.modes.clone().or(session.modes.take());
        let options = opened.config_options.clone();
        session.config_options = options.or(session.config_options.take());
    }

    /// One that is being opened.
    pub(super) fn expect(&mut self, id: &str, cwd: &Path) {
        let session = self.0.entry(id.to_owned()).or_default();
        cwd.clone_into(&mut session.cwd);
    }

    pub(super) fn get(&self, id: &str) -> Option<&Session> {
        self.0.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Session> {
        self.0.get_mut(id)
    }

    pub(super) fn forget(&mut self, id: &str) {
        self.0.remove(id);
    }

    /// The one, if there is only one.
    pub(super) fn only(&self) -> Option<String> {
        let mut ids = self.0.keys();
        let first = ids.next()?;
        ids.next().is_none().then(|| first.clone())
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

impl Session {
    /// The option that stands for something, such as `model`: its id, and the value that it has.
    pub(super) fn option_for(&self, category: &str) -> Option<(String, String)> {
        let options = self.config_options.as_ref()?.token();
        let is_meant = |option: &Token<'_>| {
            let named = |name| option.get(name).is_some_and(|word| word.is(category));
            named("category") || named("id")
        };
        let option = options.elements().find(is_meant)?;
        let text = |name| Some(option.get(name)?.string()?.into_owned());
        Some((text("id")?, text("currentValue").unwrap_or_default()))
    }
}
