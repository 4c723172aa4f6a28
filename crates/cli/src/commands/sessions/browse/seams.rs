//! Where other commands are called: what `sessions export`, `sessions delete` and `sessions resume` do, done from here.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use lapidary::home::sessions::Project;
use lapidary::normalize::Options;
use lapidary::normalize::gemini::session_events;
use lapidary::render::Renderer as _;
use lapidary::render::markdown::MarkdownRenderer;
use lapidary::wire::gemini::session::Log;

/// Whether sessions can be deleted from here.
pub(super) const CAN_DELETE: bool = false;

/// Writes a transcript in Markdown. A file that is there stays as it is.
pub(super) fn export(path: &Path, to: &Path) -> anyhow::Result<()> {
    let bytes = std::fs::read(path)?;
    let file = OpenOptions::new().write(true).create_new(true).open(to)?;
    let mut out = BufWriter::new(file);
    let mut options = Options::new("exported");
    options.keep_raw = false;
    let mut renderer = MarkdownRenderer::default();
    let mut written = Ok(());
    session_events::events(&Log::read(&bytes), &options, |event| {
        if written.is_ok() {
            written = renderer.event(&event, &mut out);
        }
    });
    written?;
    renderer.finish(&mut out)?;
    out.flush()?;
    Ok(())
}

/// Deletes a session; says what was deleted.
pub(super) fn delete(_projects: &[Project], _path: &Path) -> anyhow::Result<String> {
    anyhow::bail!("this is not built in")
}

/// How to resume a session: the command to type.
pub(super) fn resume_command(id: &str, root: Option<&PathBuf>) -> String {
    let project = root.map_or_else(String::new, |root| {
        format!(" --project {}", quoted(&root.to_string_lossy()))
    });
    format!("lapidary sessions resume {}{project}", quoted(id))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./~".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_that_a_shell_takes() {
        assert_eq!(resume_command("a-1", None), "lapidary sessions resume a-1");
        let root = PathBuf::from("/home/it's me");
        assert_eq!(
            resume_command("$(x)", Some(&root)),
            r"lapidary sessions resume '$(x)' --project '/home/it'\''s me'"
        );
    }
}
