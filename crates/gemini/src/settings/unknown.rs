//! Keys that Gemini CLI ignores without a word, and the key that was probably meant.

use serde_json::{Map, Value};
use strsim::levenshtein;

use super::check::SettingsMisfit;
use super::migrate;
use super::schema::{self, KeyShape, ValueKind};

/// The sections in which a key that is not known is worth a word.
const SECTIONS: [&str; 8] = [
    "agents",
    "experimental",
    "general",
    "hooks",
    "hooksConfig",
    "security",
    "skills",
    "tools",
];

/// The unknown keys.
pub(super) fn unknown(object: &Map<String, Value>) -> Vec<SettingsMisfit> {
    let mut found = Vec::new();
    let mut path = Vec::new();
    for (key, value) in object {
        let known = schema::at(&[key]);
        match (known, value) {
            (Some(shape), Value::Object(inner)) if SECTIONS.contains(&key.as_str()) => {
                path.push(key.as_str());
                within(shape, inner, &mut path, &mut found);
                path.pop();
            }
            // An unknown section may be another program's; one that is nearly known is a slip.
            (None, _) if nearest(schema::root(), key).is_some() => {
                found.push(misfit(schema::root(), &[key]));
            }
            _ => {}
        }
    }
    found
}

fn within<'a>(
    shape: &KeyShape,
    object: &'a Map<String, Value>,
    path: &mut Vec<&'a str>,
    found: &mut Vec<SettingsMisfit>,
) {
    let Some(keys) = &shape.keys else {
        return;
    };
    for (key, value) in object {
        path.push(key);
        match (keys.get(key), value) {
            (Some(known), Value::Object(inner)) if known.kind == ValueKind::Object => {
                within(known, inner, path, found);
            }
            (None, _) if !migrate::knows(path) => found.push(misfit(shape, path)),
            _ => {}
        }
        path.pop();
    }
}

fn misfit(shape: &KeyShape, path: &[&str]) -> SettingsMisfit {
    let key = path.last().copied().unwrap_or_default();
    let what = match path {
        ["hooks", _] => "is not a hook event",
        _ => "is not a key that Gemini CLI knows",
    };
    let sentence = match nearest(shape, key) {
        Some(meant) => format!("{what}; did you mean `{meant}`?"),
        None => what.to_owned(),
    };
    SettingsMisfit {
        keys: path.iter().map(|&key| key.to_owned()).collect(),
        sentence,
    }
}

/// The known key that is nearest to a word, if it is near.
fn nearest<'a>(shape: &'a KeyShape, word: &str) -> Option<&'a str> {
    /// No key is longer.
    const LONGEST: usize = 64;
    let word = word.to_lowercase();
    if word.len() > LONGEST {
        return None;
    }
    let known = shape.keys.as_ref()?.keys();
    let rated = known.map(|key| (levenshtein(&word, &key.to_lowercase()), key.as_str()));
    let most = 1 + word.chars().count() / 5;
    rated
        .filter(|(far, _)| *far <= most)
        .min()
        .map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_found() {
        let hooks = schema::at(&["hooks"]).unwrap();
        assert_eq!(nearest(hooks, "beforetool"), Some("BeforeTool"));
        assert_eq!(nearest(hooks, "BeforeTools"), Some("BeforeTool"));
        assert_eq!(nearest(hooks, "PreToolUse"), None);
        assert_eq!(nearest(schema::root(), "skill"), Some("skills"));
        assert_eq!(nearest(schema::root(), "x"), None);
    }
}
