//! The shapes that front matter must have, checked as zod 3 checks them: the same verdicts, the same messages in the same order.
//!
//! Zod tells values that are wrong (`Aborted`: no value of the type can be made) from values that break a rule (`Dirty`). A union
//! whose branches include a dirty one reports that branch alone; otherwise it reports all branches.
//!
//! A known difference: bytes (`!!binary`) are an object of numbers in JavaScript, and no object here.

use super::tool_names::is_valid_tool_name;
use super::url::is_url;
use crate::yaml::Yaml;

/// The type and limits that a value must satisfy.
#[derive(Debug)]
pub(super) enum Shape {
    Text(TextRule),
    Number(NumberRule),
    Bool,
    Literal(&'static str),
    /// One of these words.
    Word(&'static [&'static str]),
    List(&'static Shape),
    Record(&'static Shape),
    Object(&'static ObjectShape),
    Union(&'static [Shape]),
    /// An object whose `type` decides what else it has.
    ByType(&'static [(&'static str, ObjectShape)]),
    Undefined,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TextRule {
    Any,
    Slug,
    NotEmpty(&'static str),
    ToolName,
    Url,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NumberRule {
    Any,
    PositiveInteger,
}

#[derive(Debug)]
pub(super) struct ObjectShape {
    pub(super) fields: &'static [Field],
    pub(super) is_strict: bool,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) is_required: bool,
}

/// How a value fits a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    Valid,
    Dirty,
    Aborted,
}

/// A message about a value, or about all branches of a union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Issue {
    Plain {
        path: Vec<String>,
        message: String,
        /// The key below the path that the message is about.
        key: Option<String>,
    },
    Union(Vec<Vec<Issue>>),
}

/// The words for an empty text.
pub(super) const TOO_SHORT: &str = "String must contain at least 1 character(s)";

impl Shape {
    /// Checks a value; none is JavaScript's `undefined`.
    pub(super) fn check(&self, value: Option<&Yaml>) -> (Fit, Vec<Issue>) {
        let mut checker = Checker::default();
        let fit = checker.check(self, value);
        (fit, checker.issues)
    }

    /// What zod calls the type that it expects.
    fn expected_type(&self) -> String {
        let word = match self {
            Self::Text(_) => "string",
            Self::Number(_) => "number",
            Self::Bool => "boolean",
            Self::List(_) => "array",
            Self::Record(_) | Self::Object(_) | Self::ByType(_) => "object",
            Self::Undefined => "undefined",
            Self::Word(words) => return quoted_words(words, " | "),
            Self::Literal(_) | Self::Union(_) => "",
        };
        word.to_owned()
    }
}

#[derive(Default)]
struct Checker {
    path: Vec<String>,
    issues: Vec<Issue>,
}

impl Checker {
    fn check(&mut self, shape: &Shape, value: Option<&Yaml>) -> Fit {
        match (shape, value) {
            (Shape::Undefined, None)
            | (Shape::Bool, Some(Yaml::Bool(_)))
            | (Shape::Number(NumberRule::Any), Some(Yaml::Int(_))) => Fit::Valid,
            (Shape::Text(rule), Some(Yaml::Text(text))) => self.check_text(*rule, text),
            (Shape::Number(rule), Some(Yaml::Int(number))) => {
                self.check_number(*rule, *number > 0, true)
            }
            (Shape::Number(rule), Some(Yaml::Float(number))) if !number.is_nan() => {
                let is_whole = number.is_finite() && number.fract() == 0.0;
                self.check_number(*rule, *number > 0.0, is_whole)
            }
            (Shape::Literal(word), value) => self.check_literal(word, value),
            (Shape::Word(words), Some(Yaml::Text(text))) => self.check_word(words, text),
            (Shape::List(item), Some(Yaml::List(items))) => {
                let items = items.iter().enumerate();
                self.check_each(item, items.map(|(place, value)| (place.to_string(), value)))
            }
            (Shape::Record(item), Some(Yaml::Map(pairs))) => {
                let pairs = js_order(pairs);
                self.check_each(item, pairs.map(|(key, value)| (key.clone(), value)))
            }
            (Shape::Object(shape), Some(value @ Yaml::Map(_))) => self.check_object(shape, value),
            (Shape::Union(branches), value) => self.check_union(branches, value),
            (Shape::ByType(choices), Some(value @ Yaml::Map(_))) => self.by_type(choices, value),
            (shape, value) => self.wrong_type(&shape.expected_type(), value),
        }
    }

    fn check_text(&mut self, rule: TextRule, text: &str) -> Fit {
        let problem = match rule {
            TextRule::Any => None,
            TextRule::Slug => (!is_slug(text)).then_some("Name must be a valid slug"),
            TextRule::NotEmpty(message) => text.is_empty().then_some(message),
            TextRule::ToolName => (!is_valid_tool_name(text)).then_some("Invalid tool name"),
            TextRule::Url => (!is_url(text)).then_some("Invalid url"),
            TextRule::Json => is_not_json(text).then_some("agent_card_json must be valid JSON"),
        };
        match problem {
            None => Fit::Valid,
            Some(message) => self.add_issue(message, Fit::Dirty),
        }
    }

    fn check_number(&mut self, rule: NumberRule, is_positive: bool, is_whole: bool) -> Fit {
        if rule == NumberRule::Any {
            return Fit::Valid;
        }
        let mut fit = Fit::Valid;
        if !is_whole {
            fit = self.add_issue("Expected integer, received float", Fit::Dirty);
        }
        if !is_positive {
            fit = self.add_issue("Number must be greater than 0", Fit::Dirty);
        }
        fit
    }

    fn check_literal(&mut self, word: &str, value: Option<&Yaml>) -> Fit {
        if value.and_then(Yaml::as_text) == Some(word) {
            return Fit::Valid;
        }
        let message = format!("Invalid literal value, expected \"{word}\"");
        self.add_issue(&message, Fit::Aborted)
    }

    fn check_word(&mut self, words: &[&str], text: &str) -> Fit {
        if words.contains(&text) {
            return Fit::Valid;
        }
        let words = quoted_words(words, " | ");
        let message = format!("Invalid enum value. Expected {words}, received '{text}'");
        self.add_issue(&message, Fit::Aborted)
    }

    fn check_each<'a>(
        &mut self,
        item: &Shape,
        values: impl Iterator<Item = (String, &'a Yaml)>,
    ) -> Fit {
        let mut fit = Fit::Valid;
        for (step, value) in values {
            self.path.push(step);
            fit = fit.max(self.check(item, Some(value)));
            self.path.pop();
        }
        fit
    }

    fn check_object(&mut self, shape: &ObjectShape, value: &Yaml) -> Fit {
        let mut fit = Fit::Valid;
        for field in shape.fields {
            let value = value.get(field.name);
            if value.is_some() || field.is_required {
                self.path.push(field.name.to_owned());
                fit = fit.max(self.check(&field.shape, value));
                self.path.pop();
            }
        }
        let unknown = if shape.is_strict {
            shape.unknown_keys(value)
        } else {
            Vec::new()
        };
        if !unknown.is_empty() {
            let first = unknown.first().map(|key| (*key).to_owned());
            let unknown = quoted_words(&unknown, ", ");
            self.issues.push(Issue::Plain {
                path: self.path.clone(),
                message: format!("Unrecognized key(s) in object: {unknown}"),
                key: first,
            });
            fit = fit.max(Fit::Dirty);
        }
        fit
    }

    fn check_union(&mut self, branches: &[Shape], value: Option<&Yaml>) -> Fit {
        let mut dirty = None;
        let mut all = Vec::new();
        for branch in branches {
            let before = std::mem::take(&mut self.issues);
            let fit = self.check(branch, value);
            let issues = std::mem::replace(&mut self.issues, before);
            match fit {
                Fit::Valid => return Fit::Valid,
                Fit::Dirty if dirty.is_none() => dirty = Some(issues.clone()),
                Fit::Dirty | Fit::Aborted => {}
            }
            all.push(issues);
        }
        if let Some(issues) = dirty {
            self.issues.extend(issues);
            return Fit::Dirty;
        }
        self.issues.push(Issue::Union(all));
        Fit::Aborted
    }

    fn by_type(&mut self, choices: &[(&'static str, ObjectShape)], value: &Yaml) -> Fit {
        let word = value.get("type").and_then(Yaml::as_text);
        let choice = choices.iter().find(|(name, _)| Some(*name) == word);
        let Some((_, shape)) = choice else {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            let names = quoted_words(&names, " | ");
            self.path.push("type".to_owned());
            let message = format!("Invalid discriminator value. Expected {names}");
            let fit = self.add_issue(&message, Fit::Aborted);
            self.path.pop();
            return fit;
        };
        let fit = self.check_object(shape, value);
        if fit == Fit::Aborted || word != Some("http") {
            return fit;
        }
        fit.max(self.http_credentials(value))
    }

    /// Checks the keys that the scheme of `http` requires. A `value` satisfies every scheme.
    fn http_credentials(&mut self, auth: &Yaml) -> Fit {
        let text = |key: &str| auth.get(key).and_then(Yaml::as_text).unwrap_or_default();
        if !text("value").is_empty() {
            return Fit::Valid;
        }
        let scheme = text("scheme");
        let other = format!("HTTP scheme \"{scheme}\" requires \"value\"");
        let needed: &[(&str, &str)] = match scheme {
            "Bearer" => &[("token", "Bearer scheme requires \"token\"")],
            "Basic" => &[
                ("username", "Basic authentication requires \"username\""),
                ("password", "Basic authentication requires \"password\""),
            ],
            _ => &[("value", &other)],
        };
        let mut fit = Fit::Valid;
        for (key, message) in needed {
            if text(key).is_empty() {
                self.path.push((*key).to_owned());
                fit = self.add_issue(message, Fit::Dirty);
                self.path.pop();
            }
        }
        fit
    }

    fn wrong_type(&mut self, expected: &str, value: Option<&Yaml>) -> Fit {
        let message = match value {
            None => "Required".to_owned(),
            Some(value) => format!("Expected {expected}, received {}", type_name(value)),
        };
        self.add_issue(&message, Fit::Aborted)
    }

    fn add_issue(&mut self, message: &str, fit: Fit) -> Fit {
        self.issues.push(Issue::Plain {
            path: self.path.clone(),
            message: message.to_owned(),
            key: None,
        });
        fit
    }
}

impl ObjectShape {
    /// The keys of a mapping that the shape does not have, in JavaScript's order.
    pub(super) fn unknown_keys<'a>(&self, value: &'a Yaml) -> Vec<&'a str> {
        let Yaml::Map(pairs) = value else {
            return Vec::new();
        };
        let keys = js_order(pairs).map(|(key, _)| key.as_str());
        keys.filter(|key| self.fields.iter().all(|field| field.name != *key))
            .collect()
    }
}

/// Keys that are whole numbers come first in a JavaScript object, by size.
fn js_order(pairs: &[(String, Yaml)]) -> impl Iterator<Item = &(String, Yaml)> {
    let index = |key: &str| {
        let number = key.parse::<u32>().ok()?;
        (number.to_string() == key && number < u32::MAX).then_some(number)
    };
    let mut numbers: Vec<_> = pairs
        .iter()
        .filter(|(key, _)| index(key).is_some())
        .collect();
    numbers.sort_by_key(|(key, _)| index(key));
    let others = pairs.iter().filter(move |(key, _)| index(key).is_none());
    numbers.into_iter().chain(others)
}

/// What zod calls the type of a value.
fn type_name(value: &Yaml) -> &'static str {
    match value {
        Yaml::Null => "null",
        Yaml::Bool(_) => "boolean",
        Yaml::Float(number) if number.is_nan() => "nan",
        Yaml::Int(_) | Yaml::Float(_) => "number",
        Yaml::Date(_) => "date",
        Yaml::Text(_) => "string",
        Yaml::List(_) => "array",
        Yaml::Binary(_) | Yaml::Map(_) => "object",
    }
}

fn quoted_words(words: &[&str], between: &str) -> String {
    let words = words.iter().map(|word| format!("'{word}'"));
    words.collect::<Vec<_>>().join(between)
}

pub(super) fn is_slug(text: &str) -> bool {
    let fits = |letter: u8| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || b"-_".contains(&letter)
    };
    !text.is_empty() && text.bytes().all(fits)
}

fn is_not_json(text: &str) -> bool {
    lapidary_json::Token::parse(text).is_err()
}
