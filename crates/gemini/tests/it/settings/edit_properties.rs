//! Any change of any file: the file has the new value, and every byte outside the change is still there.

use std::fs;

use lapidary_gemini::settings::{EditError, SettingsDocument, edit};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

/// The blanks and comments that can stand between two parts of a file. `N` becomes a number, so that each comment is unique.
const GAPS: [&str; 9] = [
    "",
    "",
    " ",
    "\n  ",
    "\r\n\t",
    "/* N */",
    " /* N\n */ ",
    "// N\n",
    " // N \"{,\r\n    ",
];

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "é", "x\"y", "//"]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..5).prop_map(Value::from),
        prop::sample::select(vec!["", "t", "// no", "é\n\"", "/*"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner).prop_map(Value::from),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    vec((key(), inner), 0..4).prop_map(|pairs| pairs.into_iter().collect())
}

/// Writes a value with gaps between all of its parts.
struct Writer<'a> {
    gaps: std::iter::Cycle<std::slice::Iter<'a, usize>>,
    out: String,
    comments: usize,
}

impl Writer<'_> {
    fn gap(&mut self) {
        let gap = self.gaps.next().map_or("", |at| GAPS[at % GAPS.len()]);
        self.comments += usize::from(gap.contains('N'));
        self.out
            .push_str(&gap.replace('N', &format!("#{}#", self.comments)));
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Array(list) => self.all('[', list.iter().map(|item| (None, item)), ']'),
            Value::Object(object) => {
                self.all('{', object.iter().map(|(key, item)| (Some(key), item)), '}');
            }
            single => self.out.push_str(&single.to_string()),
        }
    }

    fn all<'v>(
        &mut self,
        open: char,
        items: impl Iterator<Item = (Option<&'v String>, &'v Value)>,
        close: char,
    ) {
        self.out.push(open);
        self.gap();
        for (at, (key, item)) in items.enumerate() {
            if at > 0 {
                self.out.push(',');
                self.gap();
            }
            if let Some(key) = key {
                self.out.push_str(&Value::from(key.as_str()).to_string());
                self.gap();
                self.out.push(':');
                self.gap();
            }
            self.value(item);
            self.gap();
        }
        self.out.push(close);
    }
}

fn written(object: &Map<String, Value>, gaps: &[usize]) -> String {
    let mut writer = Writer {
        gaps: gaps.iter().cycle(),
        out: String::new(),
        comments: 0,
    };
    writer.gap();
    writer.value(&Value::Object(object.clone()));
    writer.gap();
    writer.out
}

/// The text after a change, and the document's object at that time.
fn changed(
    before: &str,
    change: impl FnOnce(&mut SettingsDocument) -> Result<(), EditError>,
) -> (String, Map<String, Value>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(&path, before).unwrap();
    let mut said = Map::new();
    edit(&path, |document| {
        change(document)?;
        said.clone_from(document.object());
        Ok::<_, EditError>(())
    })
    .unwrap();
    let after = fs::read_to_string(&path).unwrap();
    // A second `edit` reads the file anew, without the state of the first.
    edit(&path, |document| {
        assert_eq!(document.object(), &said);
        Ok::<_, EditError>(())
    })
    .unwrap();
    (after, said)
}

fn is_within(part: &str, whole: &str) -> bool {
    let mut bytes = whole.bytes();
    part.bytes().all(|wanted| bytes.any(|byte| byte == wanted))
}

fn common(one: impl Iterator<Item = u8>, other: impl Iterator<Item = u8>) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_new_key_or_item_leaves_every_byte(
        object in object(value()), gaps in vec(0..GAPS.len(), 1..12), key in key(), value in value(),
    ) {
        let before = written(&object, &gaps);
        prop_assume!(!object.contains_key(&key));
        let mut expected = object.clone();
        expected.insert(key.clone(), value.clone());
        let (after, said) = changed(&before, |document| document.set(&[&key], value));
        prop_assert_eq!(&said, &expected, "{}\n{}", &before, &after);
        let blank = before.trim_end_matches([' ', '\n', '\r', '\t']);
        prop_assert!(
            is_within(blank, &after) || object.is_empty(),
            "{}\n---\n{}", &before, &after,
        );
        prop_assert_eq!(after.matches('#').count(), before.matches('#').count());
        prop_assert_eq!(after.ends_with(&before[before.rfind('}').unwrap()..]), true);
    }

    #[test]
    fn a_key_that_goes_takes_nothing_else_with_it(
        object in object(value()), gaps in vec(0..GAPS.len(), 1..12), at in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!object.is_empty());
        let key = object.keys().nth(at.index(object.len())).unwrap().clone();
        let before = written(&object, &gaps);
        let mut expected = object.clone();
        let gone = expected.shift_remove(&key).unwrap();
        let (after, said) = changed(&before, |document| document.remove(&[&key]).map(drop));
        prop_assert_eq!(&said, &expected, "{}\n{}", &before, &after);
        prop_assert!(is_within(&after, &before), "{}\n---\n{}", &before, &after);
        if !gone.is_object() && !gone.is_array() {
            // Those between the key and its value are all that may go with them.
            let lost = before.matches('#').count() - after.matches('#').count();
            prop_assert!(lost <= 4, "{}\n---\n{}", &before, &after);
        }
    }

    #[test]
    fn another_value_takes_the_place_of_the_old_one_only(
        object in object(value()), gaps in vec(0..GAPS.len(), 1..12), at in any::<prop::sample::Index>(), value in value(),
    ) {
        prop_assume!(!object.is_empty());
        let key = object.keys().nth(at.index(object.len())).unwrap().clone();
        let before = written(&object, &gaps);
        let mut expected = object.clone();
        let old = expected.insert(key.clone(), value.clone()).unwrap();
        let (after, said) = changed(&before, |document| document.set(&[&key], value.clone()));
        prop_assert_eq!(&said, &expected, "{}\n{}", &before, &after);
        if old == value {
            prop_assert_eq!(&before, &after);
        } else if !old.is_object() && !old.is_array() {
            let head = common(before.bytes(), after.bytes());
            let tail = common(before.bytes().rev(), after.bytes().rev());
            prop_assert!(head + tail + old.to_string().len() >= before.len(), "{}\n---\n{}", &before, &after);
        }
    }

    #[test]
    fn a_list_is_changed_item_by_item(
        list in vec(0..6_u8, 0..6), gaps in vec(0..GAPS.len(), 1..12), new in vec(0..6_u8, 0..6),
    ) {
        let names = |list: &[u8]| list.iter().map(|n| Value::from(format!("n{n}"))).collect::<Vec<_>>();
        let object = Map::from_iter([("list".to_owned(), Value::from(names(&list)))]);
        let before = written(&object, &gaps);
        let (after, said) = changed(&before, |document| document.set(&["list"], names(&new).into()));
        prop_assert_eq!(&said["list"], &Value::from(names(&new)), "{}\n{}", &before, &after);
        prop_assert_eq!(after.matches('#').count(), before.matches('#').count());
    }
}
