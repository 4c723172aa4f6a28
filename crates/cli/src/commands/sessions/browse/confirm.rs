//! Questions before an action: whether to do it, and under which name.

use std::path::{Path, PathBuf};

use super::deletion::DeletionPlan;
use super::entry::BrowseEntry;
use super::keys::BrowseKey;

/// A file's name may be so long.
const LONGEST_NAME: usize = 200;

/// The word to type to delete a session.
const YES: &str = "yes";

/// How long a prompt may be; a longer one belongs in a file.
const LONGEST_PROMPT: usize = 4000;

/// A question at the foot of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FooterQuestion {
    /// Whether a session is to be deleted.
    Delete {
        path: PathBuf,
        title: String,
        plan: DeletionPlan,
        typed: String,
    },
    /// The name of a transcript's file.
    Export { path: PathBuf, name: String },
    /// The prompt for a session that is resumed.
    Resume {
        id: String,
        root: Option<PathBuf>,
        prompt: String,
    },
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FooterAnswer {
    /// It still stands there.
    Open(FooterQuestion),
    /// It is not to be done.
    No,
    Delete(PathBuf),
    Export {
        path: PathBuf,
        to: PathBuf,
    },
    Resume(SessionResumption),
}

/// A session that goes on, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionResumption {
    pub(super) id: String,
    /// The project's directory, if it is known.
    pub(super) root: Option<PathBuf>,
    /// Empty to open Gemini CLI instead.
    pub(super) prompt: String,
}

impl FooterQuestion {
    pub(super) fn delete_question(entry: &BrowseEntry, plan: DeletionPlan) -> Self {
        Self::Delete {
            path: entry.path.clone(),
            title: entry.title.clone(),
            plan,
            typed: String::new(),
        }
    }

    pub(super) fn export_question(entry: &BrowseEntry) -> Self {
        Self::Export {
            path: entry.path.clone(),
            name: file_name(&entry.id, &entry.path),
        }
    }

    pub(super) fn resume_question(entry: &BrowseEntry) -> Self {
        Self::Resume {
            id: entry.id.clone(),
            root: entry.root.clone(),
            prompt: String::new(),
        }
    }

    /// The line that is being typed, and how long it may be.
    pub(super) fn typed_line(&mut self) -> (&mut String, usize) {
        match self {
            Self::Delete { typed, .. } => (typed, YES.len()),
            Self::Export { name, .. } => (name, LONGEST_NAME),
            Self::Resume { prompt, .. } => (prompt, LONGEST_PROMPT),
        }
    }

    /// Takes a key.
    pub(super) fn take_key(mut self, key: BrowseKey) -> FooterAnswer {
        if key == BrowseKey::Esc {
            return FooterAnswer::No;
        }
        match &mut self {
            // Only the whole word counts: a letter that was meant for a search must not delete a session.
            Self::Delete { path, typed, .. } if key == BrowseKey::Enter => {
                if typed.eq_ignore_ascii_case(YES) {
                    FooterAnswer::Delete(std::mem::take(path))
                } else {
                    FooterAnswer::No
                }
            }
            Self::Export { path, name } if key == BrowseKey::Enter && !name.trim().is_empty() => {
                FooterAnswer::Export {
                    path: std::mem::take(path),
                    to: Path::new(name.trim()).to_owned(),
                }
            }
            Self::Resume { id, root, prompt } if key == BrowseKey::Enter => {
                FooterAnswer::Resume(SessionResumption {
                    id: std::mem::take(id),
                    root: root.take(),
                    prompt: std::mem::take(prompt),
                })
            }
            Self::Delete { .. } | Self::Export { .. } | Self::Resume { .. } => {
                let (line, longest) = self.typed_line();
                key.edit_line(line, longest);
                FooterAnswer::Open(self)
            }
        }
    }
}

/// A name that cannot leave the directory: it keeps only letters, digits, `-` and `_` of the id.
fn file_name(id: &str, path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let id = if id.is_empty() { stem.as_ref() } else { id };
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let name: String = id.chars().filter(is_plain).take(64).collect();
    let name = name.trim_start_matches('-');
    format!("{}.md", if name.is_empty() { "session" } else { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_deletes() {
        let entry = BrowseEntry::sample_entry(1, "one", 1, 1);
        let answered = |word: &str, last: BrowseKey| {
            let mut asked = FooterQuestion::delete_question(&entry, DeletionPlan::sample_plan());
            for letter in word.chars() {
                asked = match asked.take_key(BrowseKey::Char(letter)) {
                    FooterAnswer::Open(asked) => asked,
                    other => panic!("{letter}: {other:?}"),
                };
            }
            asked.take_key(last)
        };
        for word in ["", "y", "no", "ye", "yesterday".get(3..).unwrap()] {
            assert_eq!(answered(word, BrowseKey::Enter), FooterAnswer::No, "{word}");
        }
        assert_eq!(answered("yes", BrowseKey::Esc), FooterAnswer::No);
        assert_eq!(
            answered("yes", BrowseKey::Enter),
            FooterAnswer::Delete(entry.path.clone())
        );
    }

    #[test]
    fn a_transcript_is_called_like_its_session_or_as_was_typed() {
        let mut entry = BrowseEntry::sample_entry(1, "one", 1, 1);
        entry.id = "../../x/.bashrc".to_owned();
        let FooterAnswer::Open(asked) =
            FooterQuestion::export_question(&entry).take_key(BrowseKey::Char('c'))
        else {
            panic!("it is being typed");
        };
        assert_eq!(
            asked,
            FooterQuestion::Export {
                path: entry.path.clone(),
                name: "xbashrc.mdc".to_owned()
            }
        );
        let FooterAnswer::Open(asked) = asked.take_key(BrowseKey::Ctrl('u')) else {
            panic!("it is being typed");
        };
        assert!(
            matches!(
                asked.clone().take_key(BrowseKey::Enter),
                FooterAnswer::Open(_)
            ),
            "no name is no answer"
        );
        assert_eq!(asked.take_key(BrowseKey::Esc), FooterAnswer::No);
        entry.id = "a1".to_owned();
        let done = FooterQuestion::export_question(&entry).take_key(BrowseKey::Enter);
        assert_eq!(
            done,
            FooterAnswer::Export {
                path: entry.path,
                to: "a1.md".into()
            }
        );
    }
}
