//! Where the keys and items of a YAML text stand, for messages about them.

use std::collections::HashMap;

use granit_parser::{Event, Parser};

use super::parser_options;
use crate::notice::TextPosition;

/// The places of the keys and items of a text. Values from an alias or a merge key have none.
#[derive(Debug, Default)]
pub struct YamlPlaces {
    /// By the node that it stands in, and its key or number there.
    nodes: HashMap<(usize, String), Node>,
    count: usize,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    id: usize,
    place: TextPosition,
}

/// A list or a mapping whose end has not come.
struct Open {
    id: usize,
    inside: Inside,
}

enum Inside {
    List(usize),
    /// The node that the last key made, until its value has come.
    Map(Option<usize>),
    /// A key that is no scalar, or what lies in one.
    Key,
}

impl YamlPlaces {
    /// The places in a text, up to the first mistake in it.
    pub fn read(text: &str) -> Self {
        let mut places = Self::default();
        let mut open: Vec<Open> = Vec::new();
        for event in Parser::new_from_str_with_options(text, parser_options()) {
            let Ok((event, span)) = event else { break };
            let place = TextPosition {
                line: span.start.line(),
                column: span.start.col() + 1,
            };
            match event {
                Event::Scalar(text, ..) => {
                    places.enter_node(&mut open, Some(&text), place);
                }
                Event::Alias(_) => {
                    places.enter_node(&mut open, None, place);
                }
                Event::SequenceStart(..) => {
                    let (id, is_key) = places.enter_node(&mut open, None, place);
                    let inside = if is_key { Inside::Key } else { Inside::List(0) };
                    open.push(Open { id, inside });
                }
                Event::MappingStart(..) => {
                    let (id, is_key) = places.enter_node(&mut open, None, place);
                    let inside = if is_key {
                        Inside::Key
                    } else {
                        Inside::Map(None)
                    };
                    open.push(Open { id, inside });
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    open.pop();
                }
                _ => {}
            }
        }
        places
    }

    /// The place of the key or item at the end of a path, else of the last step before it that has one.
    pub fn find<S: AsRef<str>>(&self, path: impl IntoIterator<Item = S>) -> Option<TextPosition> {
        let mut at = 0;
        let mut found = None;
        for step in path {
            let Some(node) = self.nodes.get(&(at, step.as_ref().to_owned())) else {
                break;
            };
            at = node.id;
            found = Some(node.place);
        }
        found
    }

    /// Takes the beginning of a value or a key: the node that it belongs to, and whether it is (in) a key.
    fn enter_node(
        &mut self,
        open: &mut [Open],
        key: Option<&str>,
        place: TextPosition,
    ) -> (usize, bool) {
        let Some(top) = open.last_mut() else {
            return (0, false);
        };
        match &mut top.inside {
            Inside::Key => (top.id, true),
            Inside::List(next) => {
                let step = next.to_string();
                *next += 1;
                (self.add_node(top.id, step, place), false)
            }
            Inside::Map(value @ None) => {
                let id = self.add_node(top.id, key.unwrap_or_default().to_owned(), place);
                *value = Some(id);
                (id, true)
            }
            Inside::Map(value) => (value.take().unwrap_or_default(), false),
        }
    }

    fn add_node(&mut self, parent: usize, step: String, place: TextPosition) -> usize {
        self.count += 1;
        let id = self.count;
        self.nodes.insert((parent, step), Node { id, place });
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_items_are_found_where_they_stand() {
        let places = YamlPlaces::read("a: 1\ntools:\n  - x\n  - {k: v, ? [q] : w}\nlast: &n [y]\n");
        let found = |path: &[&str]| places.find(path).map(|place| (place.line, place.column));
        assert_eq!(found(&["a"]), Some((1, 1)));
        assert_eq!(found(&["tools", "1"]), Some((4, 5)));
        assert_eq!(found(&["tools", "1", "k"]), Some((4, 6)));
        assert_eq!(found(&["tools", "7"]), Some((2, 1)));
        assert_eq!(found(&["last", "0"]), Some((5, 11)));
        assert_eq!(found(&["none"]), None);
    }
}
