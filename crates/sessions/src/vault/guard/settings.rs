//! The retention by which the CLI deletes sessions of a project.

use std::path::Path;
use std::time::Duration;

use crate::{RetentionLimits, RetentionPeriod};
use lapidary_gemini::settings::Settings;
use lapidary_gemini::trust::Trust;
use lapidary_gemini::{GeminiHome, Vars};

/// Which sessions the CLI's settings have it delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetentionSettings {
    /// Those not written to for longer.
    pub max_age: Option<Duration>,
    /// All but so many.
    pub max_count: Option<usize>,
}

impl RetentionSettings {
    /// The retention in the settings of a project. None if it is disabled or invalid: then no session is gone on purpose.
    pub fn of_project(home: &GeminiHome, root: &Path, vars: Vars<'_>) -> Option<Self> {
        let settings = Settings::read(home, root);
        let workspace = Trust::with_settings(root, home, vars, &settings).workspace();
        let limits = RetentionLimits::from_settings(&settings, workspace)
            .ok()?
            .checked()
            .ok()?;
        let count = |most| usize::try_from(most).unwrap_or(usize::MAX);
        Some(Self {
            max_age: limits.max_age.map(RetentionPeriod::duration),
            max_count: limits.max_count.map(count),
        })
    }
}
