//! From one value to another by the smallest changes of the text that holds it.

use serde_json::{Map, Value};

use super::layout::TextLayout;

/// The text changed so that it says `new` instead of `old`.
pub(super) fn apply_diff(text: String, old: &Value, new: &Value) -> String {
    let mut diff = SettingsDiff {
        text,
        path: Vec::new(),
    };
    diff.diff_value(old, new);
    diff.text
}

struct SettingsDiff {
    text: String,
    path: Vec<String>,
}

impl SettingsDiff {
    fn diff_value(&mut self, old: &Value, new: &Value) {
        match (old, new) {
            (old, new) if old == new => {}
            (Value::Object(old), Value::Object(new)) => self.diff_object(old, new),
            (Value::Array(old), Value::Array(new)) => self.diff_list(old, new),
            // What stood alone now stands first in a list: its text stays.
            (old, Value::Array(new)) if new.first() == Some(old) => {
                #[expect(
                    clippy::redundant_closure_for_method_calls,
                    reason = "the method itself is for one lifetime, and this is for any"
                )]
                self.change_text(|layout, path| layout.wrap_in_list(path));
                self.diff_list(std::slice::from_ref(old), new);
            }
            _ => {
                self.change_text(|layout, path| layout.replace_value(path, new));
            }
        }
    }

    fn diff_object(&mut self, old: &Map<String, Value>, new: &Map<String, Value>) {
        for key in old.keys().filter(|key| !new.contains_key(*key)) {
            // As often as it is there.
            while self.change_text(|layout, path| layout.remove_key(path, key)) {}
        }
        for (key, value) in new {
            match old.get(key) {
                Some(old) => self.diff_below(key.clone(), old, value),
                None => {
                    self.change_text(|layout, path| layout.add_key(path, key, value));
                }
            }
        }
    }

    /// Removed items leave all others as they are. Otherwise equal items at both ends stay, and the items between are changed one
    /// by one.
    fn diff_list(&mut self, old: &[Value], new: &[Value]) {
        if let Some(gone) = removed_places(old, new) {
            self.change_text(|layout, path| layout.remove_items(path, &gone));
            return;
        }
        let same = |(one, other): &(&Value, &Value)| one == other;
        let head = old.iter().zip(new).take_while(same).count();
        let (old, new) = (&old[head..], &new[head..]);
        let tail = old.iter().rev().zip(new.iter().rev());
        let tail = tail.take_while(same).count();
        let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
        let both = old.len().min(new.len());
        for at in 0..both {
            self.diff_below((head + at).to_string(), &old[at], &new[at]);
        }
        if both < old.len() {
            let gone: Vec<usize> = (head + both..head + old.len()).collect();
            self.change_text(|layout, path| layout.remove_items(path, &gone));
        }
        for (at, value) in new.iter().enumerate().skip(both) {
            self.change_text(|layout, path| layout.insert(path, head + at, value));
        }
    }

    fn diff_below(&mut self, key: String, old: &Value, new: &Value) {
        self.path.push(key);
        self.diff_value(old, new);
        self.path.pop();
    }

    /// One change. False if there was nothing to do.
    fn change_text(
        &mut self,
        change: impl FnOnce(&TextLayout<'_>, &[String]) -> Option<String>,
    ) -> bool {
        let changed = TextLayout::parse(&self.text).and_then(|layout| change(&layout, &self.path));
        match changed {
            Some(text) => {
                self.text = text;
                true
            }
            None => false,
        }
    }
}

/// The places of items that go, if nothing else changes.
fn removed_places(old: &[Value], new: &[Value]) -> Option<Vec<usize>> {
    let mut kept = new.iter().peekable();
    let is_gone = |(_, item): &(usize, &Value)| kept.next_if_eq(item).is_none();
    let gone: Vec<usize> = old
        .iter()
        .enumerate()
        .filter(is_gone)
        .map(|(at, _)| at)
        .collect();
    (old.len() == new.len() + gone.len()).then_some(gone)
}
