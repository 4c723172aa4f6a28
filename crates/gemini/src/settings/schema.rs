//! What Gemini CLI 0.61 knows of its settings: the type of each key, its default, and how files are merged at it.
//!
//! The table was taken from the CLI itself, without the defaults of `modelConfigs` (lists of models that change with each
//! version); a test compares it with the real one.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

static TABLE: LazyLock<KeyTable> = LazyLock::new(|| {
    serde_json::from_str(include_str!("keys.json")).expect("the table of this crate is sound")
});

/// All keys.
#[derive(Debug, Deserialize)]
struct KeyTable {
    shapes: BTreeMap<String, KeyShape>,
    root: KeyShape,
}

/// What may stand at a key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyShape {
    pub(super) kind: ValueKind,
    /// The name of a shape that is used more than once.
    #[serde(rename = "shape")]
    named: Option<String>,
    default: Option<Value>,
    merge: Option<MergeStrategy>,
    /// The words that may stand here.
    #[serde(default)]
    pub(super) options: Vec<String>,
    /// The shape of a list's items.
    pub(super) items: Option<Box<KeyShape>>,
    /// The keys that are known.
    pub(super) keys: Option<BTreeMap<String, KeyShape>>,
    /// The shape of additional properties (keys not listed in `keys`).
    pub(super) others: Option<Box<KeyShape>>,
    others_merge: Option<MergeStrategy>,
    /// Whether a key that is not known is a mistake for Gemini CLI too.
    #[serde(default)]
    pub(super) strict: bool,
    #[serde(default)]
    pub(super) required: Vec<String>,
    /// The shapes to choose from, the first that fits.
    #[serde(default)]
    pub(super) of: Vec<KeyShape>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ValueKind {
    Boolean,
    Number,
    String,
    Enum,
    List,
    Object,
    Any,
    OneOf,
    Shape,
}

/// What happens to the value of a weaker file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MergeStrategy {
    /// It goes; objects are merged key by key all the same.
    Replace,
    /// Lists are put behind each other.
    Concat,
    /// The same, each item once.
    Union,
    /// Objects are merged key by key, but not the values in them.
    ShallowMerge,
}

impl KeyShape {
    /// The shape itself, if this is only its name.
    pub(super) fn resolved_shape(&self) -> &Self {
        let named = self.named.as_ref();
        named
            .and_then(|name| TABLE.shapes.get(name))
            .unwrap_or(self)
    }

    fn key_shape(&self, name: &str) -> Option<&Self> {
        self.keys.as_ref()?.get(name)
    }

    fn default_value(&self) -> Option<Value> {
        let Some(keys) = &self.keys else {
            return self.default.clone();
        };
        let pairs = keys.iter();
        let pairs = pairs.filter_map(|(name, shape)| Some((name.clone(), shape.default_value()?)));
        Some(Value::Object(pairs.collect()))
    }
}

/// All keys there are.
pub(super) fn root_shape() -> &'static KeyShape {
    &TABLE.root
}

/// The settings without any file.
pub(super) fn default_settings() -> Map<String, Value> {
    match root_shape().default_value() {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

/// How files are merged at a path of keys.
///
/// The rule for unknown keys is looked up one level too high, as in Gemini CLI 0.61: a list at an unknown event of `hooks`
/// replaces the weaker one.
pub(super) fn merge_strategy(path: &[&str]) -> Option<MergeStrategy> {
    let mut parent: Option<&KeyShape> = None;
    let mut current = root_shape();
    for (depth, key) in path.iter().enumerate() {
        let Some(next) = current.key_shape(key) else {
            return parent.and_then(|parent| parent.others_merge);
        };
        parent = (depth > 0).then_some(current);
        current = next;
    }
    current.merge
}

/// The shape at a path of keys.
pub(super) fn shape_at(path: &[&str]) -> Option<&'static KeyShape> {
    let mut shape = root_shape();
    for key in path {
        shape = shape.key_shape(key)?;
    }
    Some(shape)
}
