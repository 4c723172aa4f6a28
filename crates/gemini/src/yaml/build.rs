//! Values from the parser's events, on a stack of our own: no recursion follows the depth of the text.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use granit_parser::{Event, ScalarStyle, StructureStyle, Tag};

use super::{Yaml, scalar};

/// The limit on values that aliases may add up to. Files written by hand have fewer.
const MOST_VALUES: usize = 100_000;

/// The key that merges mappings into the one it stands in.
const MERGE: &str = "<<";

#[derive(Default)]
pub(super) struct YamlBuilder {
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, Yaml>,
    root: Option<Yaml>,
    values: usize,
}

/// A list or a mapping whose end has not come.
struct OpenCollection {
    anchor: usize,
    inside: CollectionState,
}

enum CollectionState {
    List(Vec<Yaml>),
    Map(YamlMapping),
}

#[derive(Default)]
struct YamlMapping {
    pairs: Vec<(String, Yaml)>,
    /// The index of each key in `pairs`, to find repeated keys.
    places: HashMap<String, usize>,
    /// Keys that were merged in: who writes them may say otherwise.
    merged: HashSet<String>,
    key: Option<MappingKey>,
    is_block: bool,
}

enum MappingKey {
    Text(String),
    Merge,
}

impl YamlBuilder {
    /// Takes an event. An event of no width in the text stands for an absent value.
    pub(super) fn push(&mut self, event: Event<'_>, takes_room: bool) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_merge = style == ScalarStyle::Plain && tag.is_none() && text == MERGE;
                if (anchor > 0 || tag.is_some()) && self.is_first_key_of_a_block() {
                    // js-yaml takes them for those of the mapping, and then finds none.
                    return Err("the first key has an anchor or a tag".to_owned());
                }
                if !takes_room && style == ScalarStyle::Plain && self.wants_key_of_a_block() {
                    return Err("a key is missing".to_owned());
                }
                let value = scalar::scalar_value(text, style, tag.as_deref())?;
                self.keep_anchor(anchor, &value);
                self.add_value(value, is_merge)
            }
            Event::SequenceStart(_, anchor, tag) => {
                check_tag(tag, &["seq", "omap", "pairs"])?;
                self.open(anchor, CollectionState::List(Vec::new()));
                Ok(())
            }
            Event::MappingStart(style, anchor, tag) => {
                check_tag(tag, &["map", "set"])?;
                self.open(
                    anchor,
                    CollectionState::Map(YamlMapping {
                        is_block: style == StructureStyle::Block,
                        ..YamlMapping::default()
                    }),
                );
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close_collection(),
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned().unwrap_or(Yaml::Null);
                self.add_value(value, false)
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                Err("there is more than one document".to_owned())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn finish(self) -> Yaml {
        self.root.unwrap_or(Yaml::Null)
    }

    fn wants_key_of_a_block(&self) -> bool {
        matches!(self.open.last(), Some(OpenCollection { inside: CollectionState::Map(mapping), .. })
            if mapping.is_block && mapping.key.is_none())
    }

    fn is_first_key_of_a_block(&self) -> bool {
        self.wants_key_of_a_block()
            && matches!(self.open.last(), Some(OpenCollection { inside: CollectionState::Map(mapping), .. })
                if mapping.pairs.is_empty())
    }

    fn open(&mut self, anchor: usize, inside: CollectionState) {
        // An alias inside its own collection gets null. In JavaScript the collection would contain itself.
        self.keep_anchor(anchor, &Yaml::Null);
        self.open.push(OpenCollection { anchor, inside });
    }

    fn close_collection(&mut self) -> Result<(), String> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let value = match open.inside {
            CollectionState::List(items) => Yaml::List(items),
            CollectionState::Map(mapping) => Yaml::Map(mapping.pairs),
        };
        self.keep_anchor(open.anchor, &value);
        self.add_value(value, false)
    }

    fn keep_anchor(&mut self, anchor: usize, value: &Yaml) {
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
    }

    fn add_value(&mut self, value: Yaml, is_merge: bool) -> Result<(), String> {
        self.values += value.count_values();
        if self.values > MOST_VALUES {
            return Err("aliases make too much of it".to_owned());
        }
        match self.open.last_mut().map(|open| &mut open.inside) {
            None => self.root = Some(value),
            Some(CollectionState::List(items)) => items.push(value),
            Some(CollectionState::Map(mapping)) => mapping.take_value(value, is_merge)?,
        }
        Ok(())
    }
}

impl YamlMapping {
    fn take_value(&mut self, value: Yaml, is_merge: bool) -> Result<(), String> {
        match self.key.take() {
            None if is_merge => self.key = Some(MappingKey::Merge),
            None => self.key = Some(MappingKey::Text(scalar::key_text(&value)?)),
            Some(MappingKey::Merge) => match value {
                Yaml::List(sources) => sources
                    .into_iter()
                    .try_for_each(|one| self.merge_mapping(one))?,
                one => self.merge_mapping(one)?,
            },
            Some(MappingKey::Text(key)) => self.set_key(key, value)?,
        }
        Ok(())
    }

    fn set_key(&mut self, key: String, value: Yaml) -> Result<(), String> {
        let was_merged = self.merged.remove(&key);
        match self.places.get(&key) {
            None => {
                self.places.insert(key.clone(), self.pairs.len());
                self.pairs.push((key, value));
            }
            Some(&place) if was_merged => self.pairs[place].1 = value,
            Some(_) => return Err(format!("the key `{key}` stands there twice")),
        }
        Ok(())
    }

    fn merge_mapping(&mut self, source: Yaml) -> Result<(), String> {
        let Yaml::Map(pairs) = source else {
            return Err("only a mapping can be merged".to_owned());
        };
        for (key, value) in pairs {
            if !self.places.contains_key(&key) {
                self.set_key(key.clone(), value)?;
                self.merged.insert(key);
            }
        }
        Ok(())
    }
}

/// Whether a list or a mapping may carry a tag.
fn check_tag(tag: Option<Cow<'_, Tag>>, names: &[&str]) -> Result<(), String> {
    match tag {
        Some(tag) if !scalar::is_any(&tag) && !names.contains(&scalar::tag_name(&tag)?) => {
            Err(format!("`{tag}` is not a tag for it"))
        }
        _ => Ok(()),
    }
}
