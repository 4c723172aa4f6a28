//! YAML, typed as js-yaml types it, because that is what Gemini CLI reads front matter with.
//!
//! `serde-saphyr` would do if types did not depend on how a scalar is written: a plain `2024-01-01` is a date there and a quoted one
//! is text, and a skill whose description is no text is read in another way. So the events of its parser become values here.
//!
//! Where the two are known to differ: js-yaml lets a quoted text go on at the beginning of a line, and a byte order mark stand anywhere.

mod build;
mod places;
mod scalar;

use granit_parser::{Event, Options, Parser, options};

use build::YamlBuilder;
pub use places::YamlPlaces;

/// A value of a YAML document.
#[derive(Debug, Clone, PartialEq)]
pub enum Yaml {
    /// Nothing, or `null` in some spelling.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A date or a time, as it is written.
    Date(String),
    /// Bytes, as they are written.
    Binary(String),
    /// Text.
    Text(String),
    /// A sequence.
    List(Vec<Yaml>),
    /// A mapping in its order. Keys are text, as in JavaScript.
    Map(Vec<(String, Yaml)>),
}

/// Why a text is not YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (line {line}, column {column})")]
pub struct YamlError {
    /// The problem.
    pub problem: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl Yaml {
    /// The value of a mapping under a key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(pairs) = self else { return None };
        pairs
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// How many values it is made of.
    fn count_values(&self) -> usize {
        1 + match self {
            Self::List(items) => items.iter().map(Self::count_values).sum(),
            Self::Map(pairs) => pairs.iter().map(|(_, value)| value.count_values()).sum(),
            _ => 0,
        }
    }
}

/// Reads a text of one document. No text at all is `Null`.
///
/// ```
/// use lapidary_gemini::yaml::{self, Yaml};
///
/// let read = yaml::load("name: reviewer\nsince: 2024-01-01").expect("this is YAML");
/// assert_eq!(read.get("name"), Some(&Yaml::Text("reviewer".to_owned())));
/// assert_eq!(read.get("since"), Some(&Yaml::Date("2024-01-01".to_owned())));
/// ```
pub fn load(text: &str) -> Result<Yaml, YamlError> {
    if text.starts_with("...") {
        return Err(YamlError {
            problem: "a document ends before it begins".to_owned(),
            line: 1,
            column: 1,
        });
    }
    let mut builder = YamlBuilder::default();
    for event in Parser::new_from_str_with_options(text, parser_options()) {
        let (event, span) = event.map_err(|error| YamlError {
            problem: error.info().clone(),
            line: error.marker().line(),
            column: error.marker().col() + 1,
        })?;
        if matches!(event, Event::StreamEnd) {
            break;
        }
        builder
            .push(event, !span.is_empty())
            .map_err(|problem| YamlError {
                problem,
                line: span.start.line(),
                column: span.start.col() + 1,
            })?;
    }
    Ok(builder.finish())
}

fn parser_options() -> Options {
    options! { flow_nesting_limit: 100, block_nesting_limit: 100 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Yaml {
        Yaml::Text(text.to_owned())
    }

    #[test]
    fn scalars_are_what_they_are_in_js_yaml() {
        for (written, expected) in [
            ("yes", text("yes")),
            ("True", Yaml::Bool(true)),
            ("tRUE", text("tRUE")),
            ("~", Yaml::Null),
            ("", Yaml::Null),
            ("12", Yaml::Int(12)),
            ("1_000", Yaml::Int(1000)),
            ("1_", text("1_")),
            ("0x1F", Yaml::Int(31)),
            ("-0b11", Yaml::Int(-3)),
            ("0o17", Yaml::Int(15)),
            ("017", Yaml::Int(17)),
            ("+1.5e3", Yaml::Float(1500.0)),
            (".5", Yaml::Float(0.5)),
            ("-.5", text("-.5")), // js-yaml knows no sign before a bare point
            ("1:30", text("1:30")),
            ("2024-01-01", Yaml::Date("2024-01-01".to_owned())),
            ("2024-1-1", text("2024-1-1")),
            (
                "2024-1-1 1:02:03 +1",
                Yaml::Date("2024-1-1 1:02:03 +1".to_owned()),
            ),
            ("\"2024-01-01\"", text("2024-01-01")),
            ("'12'", text("12")),
            ("!!str 12", text("12")),
            ("! 12", text("12")),
            ("<<", text("<<")),
        ] {
            let read = load(&format!("key: {written}"));
            assert_eq!(
                read,
                Ok(Yaml::Map(vec![("key".to_owned(), expected)])),
                "{written}"
            );
        }
    }

    #[test]
    fn yaml_that_js_yaml_refuses_is_refused() {
        for refused in [
            "a: 1\na: 2",
            "a: b: c",
            "a: [1",
            "a: !mine x",
            "a: !!int x",
            "a: 1\n---\nb: 2",
            "a: *none",
            "a: \u{1}",
            "<<: 5",
            "a: 1\n: 2",
            "...\na: 1",
            "&x a: 1",
            "a: !!null ''",
        ] {
            assert!(load(refused).is_err(), "{refused}: {:?}", load(refused));
        }
    }

    #[test]
    fn merged_keys_stand_behind_those_that_are_written() {
        let read = load("base: &b {a: 1, c: 3}\nown:\n  a: 2\n  <<: *b").unwrap();
        let own = read.get("own").unwrap();
        assert_eq!(own.get("a"), Some(&Yaml::Int(2)));
        assert_eq!(own.get("c"), Some(&Yaml::Int(3)));
        let read = load("<<: {a: 1}\na: 2").unwrap();
        assert_eq!(read.get("a"), Some(&Yaml::Int(2)));
    }

    #[test]
    fn aliases_cannot_make_much_of_little() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let line = format!(
                "a{level}: &a{level} [{}]\n",
                vec![format!("*a{}", level - 1); 8].join(", ")
            );
            bomb.push_str(&line);
        }
        let error = load(&bomb).unwrap_err();
        assert!(error.problem.contains("too much"), "{error}");
    }
}
