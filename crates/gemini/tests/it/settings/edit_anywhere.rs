//! Any change at any path of a text as odd as JSON with comments can be: the file has the new value, every other value stays, and
//! every byte outside the place of the change.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;

use lapidary_gemini::settings::{EditError, edit};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// The blanks and comments that can stand between two parts of a file.
const GAPS: [&str; 12] = [
    "",
    "",
    " ",
    "\t\t",
    "\n",
    "\r\n\r\n    ",
    "\r",
    "/**/",
    " /* \"a\": {\r\n */\t",
    "// é ,\n",
    "//\r\n\t",
    "/* // */ // /*\n  ",
];

/// Keys, as they are written and as they read.
const KEYS: [(&str, &str); 6] = [
    (r#""a""#, "a"),
    (r#""\u0061""#, "a"),
    (r#""b""#, "b"),
    (r#""é\/\"""#, "é/\""),
    (r#""\ud800""#, "\u{fffd}"),
    (r#""//""#, "//"),
];

/// Values with nothing in them, as they are written. What each reads is below.
const LEAVES: [&str; 10] = [
    "null",
    "true",
    "1.0",
    "-0",
    "1E2",
    "1e400",
    "12345678901234567890123",
    r#""\u00e9\ud83d\ude00\\""#,
    r#""a\udc00b // no""#,
    r#""""#,
];

fn read(leaf: usize) -> Value {
    match leaf {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(1.0),
        3 => json!(-0.0),
        4 => json!(100.0),
        5 => json!(f64::MAX),
        6 => json!(12_345_678_901_234_567_890_123_f64),
        7 => json!("é\u{1f600}\\"),
        8 => json!("a\u{fffd}b // no"),
        _ => json!(""),
    }
}

/// A text that is not written yet. The same key may be there twice.
#[derive(Debug, Clone)]
enum Part {
    Leaf(usize),
    List(Vec<Part>),
    Object(Vec<(usize, Part)>),
}

impl Part {
    fn value(&self) -> Value {
        match self {
            Self::Leaf(leaf) => read(*leaf),
            Self::List(items) => items.iter().map(Self::value).collect(),
            Self::Object(pairs) => {
                let pairs = pairs.iter();
                pairs
                    .map(|(key, part)| (KEYS[*key].1.to_owned(), part.value()))
                    .collect::<Map<_, _>>()
                    .into()
            }
        }
    }
}

fn part() -> impl Strategy<Value = Part> {
    let leaf = (0..LEAVES.len()).prop_map(Part::Leaf);
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(Part::List),
            3 => pairs(inner).prop_map(Part::Object),
        ]
    })
}

fn pairs(inner: impl Strategy<Value = Part>) -> impl Strategy<Value = Vec<(usize, Part)>> {
    vec((0..KEYS.len(), inner), 0..5)
}

/// An object, some of them below more levels than most parsers take.
fn root() -> impl Strategy<Value = Part> {
    let depth = prop_oneof![4 => Just(0), 1 => 1..200_usize];
    (pairs(part()), depth).prop_map(|(pairs, depth)| {
        let inner = Part::Object(pairs);
        (0..depth).fold(inner, |inner, _| Part::Object(vec![(0, inner)]))
    })
}

/// Writes a text, and where the values of its objects are. Of two with the same path the last counts.
struct Writer<'a> {
    gaps: std::iter::Cycle<std::slice::Iter<'a, usize>>,
    out: String,
    path: Vec<String>,
    spans: HashMap<Vec<String>, Range<usize>>,
}

impl Writer<'_> {
    fn gap(&mut self) {
        let gap = self.gaps.next().map_or("", |at| GAPS[*at]);
        self.out.push_str(gap);
    }

    fn part(&mut self, part: &Part) {
        let start = self.out.len();
        match part {
            Part::Leaf(leaf) => self.out.push_str(LEAVES[*leaf]),
            Part::List(items) => {
                self.path.push("in a list".to_owned());
                self.all(items.iter().map(|item| (None, item)), ['[', ']']);
                self.path.pop();
            }
            Part::Object(pairs) => {
                self.all(
                    pairs.iter().map(|(key, item)| (Some(*key), item)),
                    ['{', '}'],
                );
            }
        }
        self.spans.insert(self.path.clone(), start..self.out.len());
    }

    fn all<'v>(
        &mut self,
        items: impl Iterator<Item = (Option<usize>, &'v Part)>,
        [open, close]: [char; 2],
    ) {
        self.out.push(open);
        self.gap();
        for (at, (key, item)) in items.enumerate() {
            if at > 0 {
                self.out.push(',');
                self.gap();
            }
            let (written, name) = key.map_or(("", ""), |key| KEYS[key]);
            self.out.push_str(written);
            if key.is_some() {
                self.gap();
                self.out.push(':');
                self.gap();
            }
            self.path.push(name.to_owned());
            self.part(item);
            self.path.pop();
            self.gap();
        }
        self.out.push(close);
    }
}

/// The paths of all objects that count.
fn objects(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let Value::Object(object) = value else {
        return;
    };
    found.push(path.clone());
    for (key, value) in object {
        path.push(key.clone());
        objects(value, path, found);
        path.pop();
    }
}

fn at<'v>(value: &'v mut Value, path: &[String]) -> &'v mut Map<String, Value> {
    let found = path
        .iter()
        .fold(value, |value, key| value.get_mut(key).unwrap());
    found.as_object_mut().unwrap()
}

#[derive(Debug, Clone)]
enum Change {
    Set(Value),
    Remove,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        2 => part().prop_map(|part| Change::Set(part.value())),
        1 => Just(Change::Remove),
    ]
}

/// Whether the bytes of `part` occur in `whole`, in the same order.
fn is_within(part: &str, whole: &str) -> bool {
    let mut bytes = whole.bytes();
    part.bytes().all(|wanted| bytes.any(|byte| byte == wanted))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_change_anywhere_changes_nothing_else(
        root in root(), gaps in vec(0..GAPS.len(), 1..12), change in change(),
        place in any::<prop::sample::Index>(), key in 0..KEYS.len(),
    ) {
        let mut writer = Writer {
            gaps: gaps.iter().cycle(),
            out: String::new(),
            path: Vec::new(),
            spans: HashMap::new(),
        };
        writer.gap();
        writer.part(&root);
        writer.gap();
        let (before, spans) = (writer.out, writer.spans);
        let mut expected = root.value();
        let mut places = Vec::new();
        objects(&expected, &mut Vec::new(), &mut places);
        let parent = place.get(&places);
        let mut path = parent.clone();
        path.push(KEYS[key].1.to_owned());
        let keys: Vec<_> = path.iter().map(String::as_str).collect();
        let object = at(&mut expected, parent);
        let last = keys[keys.len() - 1];
        // The span that may change: the value alone, or the text between the brackets around it.
        let is_there = object.contains_key(last);
        let within = match (&change, is_there) {
            (Change::Set(_), true) => spans[&path].clone(),
            _ => spans[parent].start + 1..spans[parent].end - 1,
        };

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        fs::write(&file, &before).unwrap();
        edit(&file, |document| {
            assert_eq!(Value::Object(document.object().clone()), root.value(), "{before}");
            match &change {
                Change::Set(value) => document.set(&keys, value.clone()),
                Change::Remove => document.remove(&keys).map(drop),
            }
        })
        .unwrap();
        let after = fs::read_to_string(&file).unwrap();
        match change {
            Change::Set(value) => drop(object.insert(last.to_owned(), value)),
            Change::Remove => drop(object.shift_remove(last)),
        }
        // A second `edit` reads the file anew, without the state of the first.
        edit(&file, |document| {
            assert_eq!(Value::Object(document.object().clone()), expected, "{before}\n---\n{after}");
            Ok::<_, EditError>(())
        })
        .unwrap();
        prop_assert!(after.starts_with(&before[..within.start]), "{}\n---\n{}", &before, &after);
        prop_assert!(after.ends_with(&before[within.end..]), "{}\n---\n{}", &before, &after);
        let end = after.len() - (before.len() - within.end);
        let (old, new) = (&before[within.clone()], &after[within.start..end]);
        if !is_there {
            // At most the blanks before a bracket that closes move.
            prop_assert!(is_within(old.trim_end(), new), "{}\n---\n{}", &before, &after);
        }
    }

    #[test]
    fn a_text_that_is_not_json_stays_as_it_is(
        root in root(), gaps in vec(0..GAPS.len(), 1..12), flaw in 0..4_usize,
    ) {
        let mut writer = Writer {
            gaps: gaps.iter().cycle(),
            out: String::new(),
            path: Vec::new(),
            spans: HashMap::new(),
        };
        writer.part(&root);
        let text = writer.out;
        let inside = &text[..text.len() - 1];
        let text = match flaw {
            0 => format!("\u{feff}{text}"),
            1 => format!("{inside},}}"),
            2 => inside.to_owned(),
            _ => format!("{text} /* hard\u{a0}space */"),
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        fs::write(&file, &text).unwrap();
        let refused = edit(&file, |document| document.set(&["x"], json!(1)));
        prop_assert!(matches!(refused, Err(EditError::Unreadable { .. })), "{}", text);
        prop_assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}
