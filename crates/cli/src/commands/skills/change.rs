//! The output of commands that change skills: Gemini CLI's own words, or an object for programs.

use std::path::Path;

use lapidary::gemini::settings::SettingsScope;
use lapidary::gemini::skills::{PlacedSkill, ToggleResult};
use lapidary::vocab::line;
use lapidary::vocab::skills::{CHANGE_SCHEMA, MovedSkill, SkillAction, SkillChange};

use crate::commands::sessions::SessionsFormat;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// The format of the report on a change. Scripts know Gemini CLI's words, so a pipe gets them, too.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct SkillChangeFormat {
    /// What to print: text is Gemini CLI's words on stderr, also when piped
    #[arg(long, value_enum, default_value_t = SessionsFormat::Text)]
    format: SessionsFormat,
}

/// The result of a change.
pub(super) struct SkillChangeOutcome {
    /// Gemini CLI's words for it.
    pub(super) words: Vec<String>,
    pub(super) change: SkillChange,
}

impl SkillChangeFormat {
    pub(super) fn print_outcome(
        self,
        outcome: &SkillChangeOutcome,
        out: &mut Printer,
    ) -> Result<CommandExit, Failure> {
        let change = &outcome.change;
        self.format
            .print_words(&outcome.words, &change.remarks, out);
        if self.format == SessionsFormat::Json {
            line::write(out, change)?;
        }
        Ok(CommandExit::Success)
    }
}

impl SkillChangeOutcome {
    /// A change with its action only.
    pub(super) fn new(action: SkillAction) -> Self {
        let change = SkillChange {
            schema: CHANGE_SCHEMA.to_owned(),
            action,
            name: None,
            source: None,
            scope: None,
            applied: false,
            changed: Vec::new(),
            skills: Vec::new(),
            remarks: Vec::new(),
        };
        let words = Vec::new();
        Self { words, change }
    }

    /// A change of the lists of disabled skills.
    pub(super) fn of_lists(action: SkillAction, toggled: &ToggleResult) -> Self {
        let mut outcome = Self::new(action);
        let shown = |(_, file): &(SettingsScope, std::path::PathBuf)| file.display().to_string();
        outcome.words.push(toggled.message());
        outcome.change.name = Some(toggled.name.clone());
        outcome.change.applied = !toggled.modified.is_empty();
        outcome.change.changed = toggled.modified.iter().map(shown).collect();
        outcome
    }

    /// A skill came or went.
    pub(super) fn note_skill(&mut self, skill: &PlacedSkill) {
        self.change.applied = true;
        self.change.skills.push(MovedSkill {
            name: skill.name.clone(),
            location: path_text(&skill.location),
            replaced: skill.replaced,
        });
    }
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}
