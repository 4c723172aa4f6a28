//! Keys and their functions.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key that has a function here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BrowseKey {
    Char(char),
    Ctrl(char),
    Enter,
    Esc,
    Tab,
    Backspace,
    Delete,
    F1,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

impl BrowseKey {
    /// The pressed key, if it has a function.
    pub(super) fn from_event(event: KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        Some(match event.code {
            KeyCode::Char(letter) if event.modifiers.contains(KeyModifiers::CONTROL) => {
                Self::Ctrl(letter.to_ascii_lowercase())
            }
            KeyCode::Char(letter) if !event.modifiers.contains(KeyModifiers::ALT) => {
                Self::Char(letter)
            }
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Esc,
            KeyCode::Tab | KeyCode::BackTab => Self::Tab,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Delete => Self::Delete,
            KeyCode::F(1) => Self::F1,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            _ => return None,
        })
    }

    /// How far it moves in a view with so many rows on the screen.
    pub(super) fn row_motion(self, height: usize) -> Option<isize> {
        let page = isize::try_from(height.saturating_sub(1).max(1)).unwrap_or(isize::MAX);
        Some(match self {
            Self::Up | Self::Char('k') | Self::Ctrl('p') => -1,
            Self::Down | Self::Char('j') | Self::Ctrl('n') => 1,
            Self::PageUp | Self::Ctrl('b') => -page,
            Self::PageDown | Self::Ctrl('f') | Self::Char(' ') => page,
            Self::Home | Self::Char('g') => isize::MIN,
            Self::End | Self::Char('G') => isize::MAX,
            _ => return None,
        })
    }

    /// The same without letters, for modes in which letters are typed.
    pub(super) fn motion_while_typing(self, height: usize) -> Option<isize> {
        match self {
            Self::Char(_) => None,
            other => other.row_motion(height),
        }
    }

    /// Changes a line that is being typed. True if it did.
    pub(super) fn edit_line(self, line: &mut String, longest: usize) -> bool {
        match self {
            Self::Char(letter) if line.chars().count() < longest && !letter.is_control() => {
                line.push(letter);
            }
            Self::Backspace | Self::Ctrl('h') => {
                line.pop();
            }
            Self::Ctrl('u') => line.clear(),
            Self::Ctrl('w') => {
                let end = line.trim_end().rfind(' ').map_or(0, |at| at + 1);
                line.truncate(end);
            }
            _ => return false,
        }
        true
    }
}

/// The page that F1 shows: keys and their functions.
pub(super) const HELP: &[(&str, &str)] = &[
    (
        "Letters",
        "search titles, ids and texts: words, \"a phrase\"; Backspace, Ctrl-W, Ctrl-U",
    ),
    ("Esc", "end the search; without a search, leave"),
    (
        "Up, Down",
        "one row up, down; PgUp, PgDn, Home, End likewise",
    ),
    ("Enter", "read the whole session"),
    ("Ctrl-R", "resume it: with a prompt, or in Gemini CLI"),
    ("Ctrl-E", "export it as Markdown"),
    ("Del, Ctrl-X", "delete it, if you then type `yes`"),
    ("Ctrl-O", "order by date, messages or name"),
    ("Ctrl-T", "turn the order around"),
    (
        ONE_PROJECT,
        "only the project of this session, or all again",
    ),
    ("Ctrl-A", "also the files that were skipped, and why"),
    ("Tab", "preview on and off"),
    ("Ctrl-C", "leave from everywhere; Ctrl-Z suspends"),
    (
        "!",
        "Gemini CLI will delete this session when it next starts",
    ),
    ("", ""),
    (
        "While reading",
        "/ searches, n and N go to the next and the one before, q goes back",
    ),
];

/// The key that shows one project only, where there are several.
pub(super) const ONE_PROJECT: &str = "Ctrl-L";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_letter_by_letter_and_word_by_word() {
        let mut line = "one two".to_owned();
        assert!(BrowseKey::Char('!').edit_line(&mut line, 8));
        assert!(
            !BrowseKey::Char('!').edit_line(&mut line, 8),
            "it is long enough"
        );
        assert_eq!(line, "one two!");
        assert!(BrowseKey::Ctrl('w').edit_line(&mut line, 8));
        assert_eq!(line, "one ");
        BrowseKey::Backspace.edit_line(&mut line, 8);
        assert_eq!(line, "one");
        BrowseKey::Ctrl('w').edit_line(&mut line, 8);
        assert_eq!(line, "");
        BrowseKey::Backspace.edit_line(&mut line, 8);
        assert!(!BrowseKey::Enter.edit_line(&mut line, 8));
    }

    #[test]
    fn a_key_that_is_let_go_is_no_key() {
        let mut event = KeyEvent::new(KeyCode::Char('C'), KeyModifiers::CONTROL);
        assert_eq!(BrowseKey::from_event(event), Some(BrowseKey::Ctrl('c')));
        event.kind = KeyEventKind::Release;
        assert_eq!(BrowseKey::from_event(event), None);
        let alt = KeyEvent::new(KeyCode::Char('d'), KeyModifiers::ALT);
        assert_eq!(BrowseKey::from_event(alt), None);
    }
}
