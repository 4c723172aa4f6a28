//! One `SKILL.md`: front matter between two lines of dashes, then instructions.
//!
//! Gemini CLI reads the front matter as YAML. Where that fails, or name and description are no texts, it looks for the two line
//! by line, and takes the values verbatim. We repeat its mistakes: a file must mean the same to both.

use crate::file::ReadError;
use crate::js;
use crate::yaml;

/// The content of a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFrontmatter {
    /// The name, made fit for a file name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The text after the front matter, without white space around it.
    pub body: String,
    /// Why it was read line by line, if it was.
    pub not_yaml: Option<String>,
}

/// Why a file is no skill.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WhyNot {
    /// There are signs of front matter, but other text stands before it.
    #[error("{0} before the first `---`: it must be the very beginning")]
    NotAtTheBeginning(&'static str),
    /// No front matter at all.
    #[error("does not begin with a line `---`, front matter and another line `---`")]
    NoFrontmatter,
    /// It begins, and never ends.
    #[error("its front matter has no second line `---`")]
    Unfinished,
    /// The front matter lacks a required key.
    #[error("its front matter has no `{0}`")]
    Missing(&'static str),
    /// Bytes that are no text.
    #[error("is not text")]
    Binary,
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// It lies in a directory that Gemini CLI cannot name.
    #[error("lies in a directory whose name is not UTF-8, where Gemini CLI does not find it")]
    NoName,
    /// A link whose end is gone.
    #[error("is a dangling link")]
    LeadsNowhere,
}

/// Reads the text of a `SKILL.md`.
///
/// ```
/// use lapidary_gemini::skills::frontmatter;
///
/// let skill = frontmatter("---\nname: a/b\ndescription: Does it\n---\nDo it.\n").expect("this is a skill");
/// assert_eq!((skill.name.as_str(), skill.body.as_str()), ("a-b", "Do it."));
/// ```
pub fn frontmatter(text: &str) -> Result<SkillFrontmatter, WhyNot> {
    let (header, body) = split_frontmatter(text)?;
    let (name, description, not_yaml) = match from_yaml(header) {
        Ok((name, description)) => (name, description, None),
        Err(problem) => {
            let (name, description) = from_lines(header)?;
            (name, description, Some(problem))
        }
    };
    Ok(SkillFrontmatter {
        name: sanitized_name(&name),
        description,
        body: js::trim(body).to_owned(),
        not_yaml,
    })
}

/// Returns the text between the dashes, and the text behind them. The end is the first line that begins with three dashes; if
/// other characters follow on that line, the body is empty.
pub(crate) fn split_frontmatter(text: &str) -> Result<(&str, &str), WhyNot> {
    let inside = text.strip_prefix("---").and_then(after_newline);
    let inside = inside.ok_or_else(|| why_no_beginning(text))?;
    let end = inside.find("\n---").ok_or(WhyNot::Unfinished)?;
    let header = &inside[..end];
    let header = header.strip_suffix('\r').unwrap_or(header);
    let body = after_newline(&inside[end + "\n---".len()..]);
    Ok((header, body.unwrap_or_default()))
}

fn after_newline(text: &str) -> Option<&str> {
    text.strip_prefix('\n')
        .or_else(|| text.strip_prefix("\r\n"))
}

fn why_no_beginning(text: &str) -> WhyNot {
    let bare = text.trim_start_matches(js::is_space);
    if bare.len() < text.len() && bare.starts_with("---") {
        let what = if text.starts_with('\u{feff}') {
            "there is a byte order mark"
        } else {
            "there is white space"
        };
        return WhyNot::NotAtTheBeginning(what);
    }
    let start: String = text.chars().take(1000).collect();
    if start.contains(['\0', '\u{fffd}']) {
        return WhyNot::Binary;
    }
    WhyNot::NoFrontmatter
}

/// Name and description, if both are texts in YAML; else why not.
fn from_yaml(header: &str) -> Result<(String, String), String> {
    let read = yaml::load(header).map_err(|error| error.to_string())?;
    let text = |key: &str| {
        let text = read.get(key).and_then(yaml::Yaml::as_text);
        text.map(str::to_owned)
            .ok_or_else(|| format!("`{key}` is not a string in YAML"))
    };
    Ok((text("name")?, text("description")?))
}

/// Name and description wherever a line begins with them, the last of each. A description goes on in the lines behind it that are
/// indented.
fn from_lines(header: &str) -> Result<(String, String), WhyNot> {
    let (mut name, mut description) = (None, None);
    let mut lines = header
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .peekable();
    while let Some(line) = lines.next() {
        if let Some(value) = value_of("name:", line) {
            name = Some(value.to_owned());
        } else if let Some(value) = value_of("description:", line) {
            let mut parts = vec![value];
            while let Some(more) = lines.next_if(|line| is_indented(line)) {
                parts.push(js::trim(more));
            }
            parts.retain(|part| !part.is_empty());
            description = Some(parts.join(" "));
        }
    }
    let name = name.ok_or(WhyNot::Missing("name"))?;
    let description = description.ok_or(WhyNot::Missing("description"))?;
    Ok((name, description))
}

/// The value of a key on a line. A value that contains a line end of JavaScript does not count.
fn value_of<'a>(key: &str, line: &'a str) -> Option<&'a str> {
    let value = line.trim_start_matches(js::is_space).strip_prefix(key)?;
    let value = value.trim_start_matches(js::is_space);
    let has_line_end = value.contains(['\r', '\u{2028}', '\u{2029}']);
    (!has_line_end).then(|| js::trim(value))
}

fn is_indented(line: &str) -> bool {
    let inside = line.trim_start_matches([' ', '\t']);
    inside.len() < line.len() && !inside.starts_with(js::is_space) && !inside.is_empty()
}

fn sanitized_name(name: &str) -> String {
    const NOT_IN_FILE_NAMES: [char; 9] = [':', '\\', '/', '<', '>', '*', '?', '"', '|'];
    name.replace(NOT_IN_FILE_NAMES, "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(header: &str) -> Option<(String, String)> {
        let read = frontmatter(&format!("---\n{header}\n---\nbody")).ok()?;
        Some((read.name, read.description))
    }

    #[test]
    fn front_matter_is_read_as_observed_on_gemini_cli() {
        for (written, expected) in [
            ("name: a\ndescription: b", Some(("a", "b"))),
            ("name: 123\ndescription: b", Some(("123", "b"))),
            (
                "name: \"quoted\"\ndescription: has: colon",
                Some(("-quoted-", "has: colon")),
            ),
            ("name: a\ndescription: true", Some(("a", "true"))),
            (
                "name: a\ndescription: 2024-01-01",
                Some(("a", "2024-01-01")),
            ),
            ("name:\ndescription: b", Some(("", "b"))),
            ("name: a\nname: b\ndescription: c", Some(("b", "c"))),
            ("metadata:\n  name: x\n  description: y", Some(("x", "y"))),
            (
                "name: a\ndescription: >\n  one\n  two",
                Some(("a", "one two\n")),
            ),
            (
                "name: a\ndescription: |\n  one\n  two\nbad: [",
                Some(("a", "| one two")),
            ),
            (
                "name: a\ndescription: |\n  one\n\n  two\nbad: [",
                Some(("a", "| one")),
            ),
            ("name: ../evil\ndescription: b", Some(("..-evil", "b"))),
            ("name: a", None),
            ("description: a", None),
            ("", None),
            ("- name: a\n  description: b", None),
            ("name: [a]\ndescription: b\r", Some(("[a]", "b"))),
            ("name: &x a\ndescription: *x", Some(("a", "a"))),
        ] {
            let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
            assert_eq!(header(written), expected, "{written}");
        }
    }

    #[test]
    fn a_file_begins_with_dashes_and_its_front_matter_ends_with_the_next_ones() {
        for (text, expected) in [
            (
                "---\nname: a\ndescription: b\n---\n\n body \n",
                Some("body"),
            ),
            (
                "---\r\nname: a\r\ndescription: b\r\n---\r\nbody\r\n",
                Some("body"),
            ),
            ("---\nname: a\ndescription: b\n-----extra\nbody", Some("")),
            ("---\nname: a\ndescription: b\n---", Some("")),
            ("---\nname: a\ndescription: b\n--- \nbody", Some("")),
            ("\n---\nname: a\ndescription: b\n---\nbody", None),
            ("\u{feff}---\nname: a\ndescription: b\n---\nbody", None),
            ("--- \nname: a\ndescription: b\n---\nbody", None),
            ("---\nname: a\ndescription: b\n", None),
            ("---\n---\nname: a\ndescription: b\n", None),
            ("", None),
        ] {
            let body = frontmatter(text).ok().map(|read| read.body);
            assert_eq!(body.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn an_invalid_skill_file_has_a_reason() {
        for (text, words) in [
            ("\u{feff}---\nname: a", "byte order mark"),
            (" \n---\n", "white space"),
            ("\0\0---", "not text"),
            ("# Skill", "does not begin"),
            ("---\nname: a", "no second line"),
            ("---\nname: a\n---\n", "no `description`"),
            ("---\ndescription: a\n---\n", "no `name`"),
        ] {
            let why = frontmatter(text).unwrap_err().to_string();
            assert!(why.contains(words), "{text:?}: {why}");
        }
    }
}
