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
pub(super) fn unknown_keys(object: &Map<String, Value>) -> Vec<SettingsMisfit> {
    let mut found = Vec::new();
    let mut path = Vec::new();
    for (key, value) in object {
        let known = schema::shape_at(&[key]);
        match (known, value) {
            (Some(shape), Value::Object(inner)) if SECTIONS.contains(&key.as_str()) => {
                path.push(key.as_str());
                collect_unknown(shape, inner, &mut path, &mut found);
                path.pop();
            }
            // An unknown section may be another program's; one that is nearly known is a slip.
            (None, _) if nearest_key(schema::root_shape(), key).is_some() => {
                found.push(unknown_key_misfit(schema::root_shape(), &[key]));
            }
            _ => {}
        }
    }
    found
}

fn collect_unknown<'a>(
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
                collect_unknown(known, inner, path, found);
            }
            (None, _) if !migrate::is_old_path(path) => found.push(unknown_key_misfit(shape, path)),
            _ => {}
        }
        path.pop();
    }
}

fn unknown_key_misfit(shape: &KeyShape, path: &[&str]) -> SettingsMisfit {
    let key = path.last().copied().unwrap_or_default();
    let what = match path {
        ["hooks", _] => "is not a hook event",
        _ => "is not a key that Gemini CLI knows",
    };
    let sentence = match nearest_key(shape, key) {
        Some(meant) => format!("{what}; did you mean `{meant}`?"),
        None => what.to_owned(),
    };
    SettingsMisfit {
        keys: path.iter().map(|&key| key.to_owned()).collect(),
        sentence,
    }
}

/// The known key that is nearest to a word, if it is near.
fn nearest_key<'a>(shape: &'a KeyShape, word: &str) -> Option<&'a str> {
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
        let hooks = schema::shape_at(&["hooks"]).unwrap();
        assert_eq!(nearest_key(hooks, "beforetool"), Some("BeforeTool"));
        assert_eq!(nearest_key(hooks, "BeforeTools"), Some("BeforeTool"));
        assert_eq!(nearest_key(hooks, "PreToolUse"), None);
        assert_eq!(nearest_key(schema::root_shape(), "skill"), Some("skills"));
        assert_eq!(nearest_key(schema::root_shape(), "x"), None);
    }
}
