//! Variables in the texts of settings: `$NAME`, `${NAME}`, `${NAME:-otherwise}`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::paths::Vars;

/// The variables that a hook gets about its surroundings. A process inside a hook has them, and they do not apply to its own
/// hooks.
const OF_HOOKS: [&str; 5] = [
    "GEMINI_PROJECT_DIR",
    "GEMINI_CWD",
    "GEMINI_PLANS_DIR",
    "GEMINI_SESSION_ID",
    "CLAUDE_PROJECT_DIR",
];

/// The sources of the values of variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VariableSource<'a> {
    /// Asked first.
    pub(crate) own: Option<&'a BTreeMap<String, String>>,
    pub(crate) vars: Vars<'a>,
}

impl<'a> VariableSource<'a> {
    pub(crate) fn from_vars(vars: Vars<'a>) -> Self {
        Self { own: None, vars }
    }

    fn get(&self, name: &str) -> Option<String> {
        let own = self.own.and_then(|own| own.get(name)).cloned();
        own.or_else(|| Some(self.vars.raw_value(name)?.to_string_lossy().into_owned()))
    }

    /// Fills in the variables of every text. Keys stay as they are.
    pub(crate) fn fill_value(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.contains('$') => *text = self.fill_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.fill_value(item)),
            Value::Object(object) => self.fill_object(object),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    pub(crate) fn fill_object(&self, object: &mut Map<String, Value>) {
        object.values_mut().for_each(|value| self.fill_value(value));
    }

    /// A variable without a value or a default stays as it is written.
    fn fill_text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        // No brace is closed behind it, so a text of many open braces does not make us look for the end of each.
        let last = text.rfind('}').unwrap_or_default();
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let is_closed = text.len() - rest.len() < last;
            let Some(found) = leading_reference(rest, is_closed) else {
                out.push('$');
                rest = &rest[1..];
                continue;
            };
            let (written, behind) = rest.split_at(found.length);
            if OF_HOOKS.contains(&found.name) {
                out.push_str(written);
                rest = behind;
                continue;
            }
            let value = self.get(found.name);
            let value = value.or_else(|| found.otherwise.map(str::to_owned));
            out.push_str(value.as_deref().unwrap_or(written));
            rest = behind;
        }
        out.push_str(rest);
        out
    }
}

struct VariableReference<'a> {
    name: &'a str,
    otherwise: Option<&'a str>,
    /// How many bytes it takes.
    length: usize,
}

/// The reference that a text begins with, if it does. The text begins with `$`, and a brace is closed in it or not.
fn leading_reference(text: &str, is_closed: bool) -> Option<VariableReference<'_>> {
    let behind = &text[1..];
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let word = behind.find(|letter| !is_word(letter));
    let word = word.unwrap_or(behind.len());
    if word > 0 {
        return Some(VariableReference {
            name: &behind[..word],
            otherwise: None,
            length: 1 + word,
        });
    }
    let inner = behind.strip_prefix('{').filter(|_| is_closed)?;
    let inner = &inner[..inner.find('}')?];
    // The name has at least one letter, of any kind: `${:-x}` is a variable called `:-x`.
    let first = inner.chars().next()?.len_utf8();
    let split = inner[first..].find(":-").map(|at| at + first);
    Some(VariableReference {
        name: &inner[..split.unwrap_or(inner.len())],
        otherwise: split.map(|at| &inner[at + 2..]),
        length: inner.len() + 3,
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use lapidary_testkit::work::{assert_linear, cost};

    use super::*;

    #[test]
    fn references_are_filled_in_as_the_cli_does() {
        let vars: BTreeMap<OsString, OsString> = [
            ("A", "1"),
            ("EMPTY", ""),
            ("LOOP", "$A"),
            ("a b", "2"),
            ("GEMINI_CWD", "/x"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
        let known = VariableSource::from_vars(Vars::new(&vars));
        for (text, expected) in [
            ("$A", "1"),
            ("$A$A", "11"),
            ("x${A}y", "x1y"),
            ("$AB", "$AB"),
            ("${A:-2}", "1"),
            ("${B:-2}", "2"),
            ("${B:-}", ""),
            ("${B}", "${B}"),
            ("${EMPTY:-2}", ""),
            ("$LOOP", "$A"),
            ("${a b}", "2"),
            ("${", "${"),
            ("${}", "${}"),
            ("${:-x}", "${:-x}"),
            ("$$A", "$1"),
            ("$", "$"),
            ("5 $ é$A", "5 $ é1"),
            ("${B:-${A}}", "${A}"),
            ("$é", "$é"),
            (
                "$GEMINI_CWD ${GEMINI_CWD:-y}",
                "$GEMINI_CWD ${GEMINI_CWD:-y}",
            ),
        ] {
            assert_eq!(known.fill_text(text), expected, "{text}");
        }
    }

    #[test]
    fn unclosed_braces_take_linear_time() {
        let vars = BTreeMap::new();
        let known = VariableSource::from_vars(Vars::new(&vars));
        for start in ["${", "${A:-", "$", "${}", "${A}"] {
            assert_linear(25_000, |count| {
                let text = start.repeat(count);
                cost(|| assert_eq!(known.fill_text(&text), text))
            });
        }
    }
}
