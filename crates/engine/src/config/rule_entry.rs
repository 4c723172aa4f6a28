//! One rule as it is written in a file.

use std::path::Path;

use lapidary_vocab::event::ToolKind;

use lapidary_policy::nearest::nearest_of;
use lapidary_policy::{HostPattern, PathGlob, PermissionEffect, Rule, RuleOrigin, RuleSubject};

use super::keys::{text_value, unfit_value};
use super::problem::ConfigProblem;
use super::read::unknown_among;
use super::value::ConfigValue;

/// The keys of a rule.
pub(crate) const RULE_KEYS: [&str; 9] = [
    "kind", "tool", "command", "path", "host", "mcp", "agent", "then", "reason",
];

/// An entry of a rule: its key, its value, and where they stand if that is known.
#[derive(Debug)]
pub(crate) struct WrittenEntry<P> {
    pub(crate) key: String,
    pub(crate) value: ConfigValue,
    pub(crate) key_place: P,
    pub(crate) value_place: P,
}

/// Reads a rule. Relative paths count from `dir`. A mistake comes with its place; `place` is the rule's own.
pub(crate) fn read_rule<P: Clone>(
    entries: Vec<WrittenEntry<P>>,
    name: String,
    place: &P,
    dir: &Path,
) -> Result<Rule, (P, ConfigProblem)> {
    let mut about = RuleSubject::default();
    let mut then = None;
    let mut reason = None;
    for entry in entries {
        let Some(key) = RULE_KEYS.into_iter().find(|key| *key == entry.key) else {
            let key = unknown_among(&entry.key, &RULE_KEYS);
            return Err((entry.key_place, ConfigProblem::NoSuchRuleKey { key }));
        };
        let read = match key {
            "then" => parse_effect(&entry.value).map(|effect| then = Some(effect)),
            "reason" => {
                text_value(key, &entry.value).map(|text| reason = Some(without_controls(&text)))
            }
            _ => read_subject(&mut about, key, &entry.value, dir),
        };
        read.map_err(|problem| (entry.value_place, problem))?;
    }
    let then = then.ok_or_else(|| (place.clone(), ConfigProblem::NoEffect))?;
    Ok(Rule {
        then,
        reason,
        name,
        origin: RuleOrigin::User,
        about,
    })
}

/// Reads a key that says which actions the rule is about.
fn read_subject(
    about: &mut RuleSubject,
    key: &'static str,
    value: &ConfigValue,
    dir: &Path,
) -> Result<(), ConfigProblem> {
    let texts = text_list(key, value)?;
    match key {
        "kind" => {
            let kinds = texts.iter().map(|word| parse_kind(word));
            about.kinds = kinds.collect::<Result<_, _>>()?;
        }
        "tool" => about.tools = texts,
        "command" => about.commands = texts,
        "mcp" => about.servers = texts,
        "agent" => about.agents = texts,
        "host" => {
            let hosts = texts.iter().map(|text| parse_host(text));
            about.hosts = hosts.collect::<Result<_, _>>()?;
        }
        _ => {
            let globs = texts.iter().map(|text| parse_path_glob(text, dir));
            about.paths = globs.collect::<Result<_, _>>()?;
        }
    }
    Ok(())
}

fn parse_host(text: &str) -> Result<HostPattern, ConfigProblem> {
    HostPattern::parse(text).map_err(|error| ConfigProblem::Unfit {
        key: "host",
        accepted: error.accepted(),
        got: ConfigValue::from(text).python_repr(),
    })
}

fn parse_path_glob(text: &str, dir: &Path) -> Result<PathGlob, ConfigProblem> {
    PathGlob::parse(text, dir).map_err(|error| ConfigProblem::Unfit {
        key: "path",
        accepted: error.accepted(),
        got: ConfigValue::from(text).python_repr(),
    })
}

fn parse_kind(word: &str) -> Result<ToolKind, ConfigProblem> {
    match ToolKind::from(word) {
        ToolKind::Other(word) => Err(ConfigProblem::NotOneOf {
            key: "kind",
            accepted: ToolKind::KNOWN.to_vec(),
            got: shown_with_nearest(&word, ToolKind::KNOWN),
        }),
        known => Ok(known),
    }
}

fn parse_effect(value: &ConfigValue) -> Result<PermissionEffect, ConfigProblem> {
    let words = PermissionEffect::ALL.map(PermissionEffect::as_str);
    let (found, got) = match value {
        ConfigValue::Str(word) => (
            PermissionEffect::from_word(word),
            shown_with_nearest(word, &words),
        ),
        other => (None, other.python_repr()),
    };
    found.ok_or_else(|| ConfigProblem::NotOneOf {
        key: "then",
        accepted: words.to_vec(),
        got,
    })
}

fn shown_with_nearest(word: &str, words: &[&'static str]) -> String {
    let shown = ConfigValue::from(word).python_repr();
    match nearest_of(word, words.iter().copied()) {
        Some(nearest) => format!("{shown} (did you mean '{nearest}'?)"),
        None => shown,
    }
}

/// Text without control characters that a terminal would obey: a project's file is read before a person has looked at it.
fn without_controls(text: &str) -> String {
    let is_override = |letter| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            letter if letter.is_control() || is_override(letter) => {
                shown.extend(letter.escape_default());
            }
            letter => shown.push(letter),
        }
    }
    shown
}

/// One string, or several of which one is enough.
fn text_list(key: &'static str, value: &ConfigValue) -> Result<Vec<String>, ConfigProblem> {
    const ACCEPTED: &str = "a string that is not empty, or a list of them";
    match value {
        ConfigValue::List(items) if !items.is_empty() => {
            let texts = items.iter().map(|item| text_value(key, item));
            let texts: Result<_, _> = texts.collect();
            texts.map_err(|_| unfit_value(key, ACCEPTED, value))
        }
        ConfigValue::Str(_) => Ok(vec![text_value(key, value)?]),
        other => Err(unfit_value(key, ACCEPTED, other)),
    }
}
