//! From text to a configuration.

use std::collections::BTreeMap;
use std::path::Path;

use lapidary_sessions::PriceTable;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::agents::{self, AGENTS};
use super::problem::{ConfigError, ConfigProblem, ConfigWarning, FilePosition, UnknownKey};
use super::rules::{self, RULE};
use super::value::ConfigValue;
use super::{Config, keys};
use lapidary_policy::nearest::nearest_of;

impl Config {
    /// Reads TOML that the user wrote. `origin` is the file it came from: messages name it, and relative paths in it count from
    /// the directory it lies in. For a project's file there is [`Config::from_project_toml`].
    pub fn from_toml(text: &str, origin: &Path) -> Result<(Self, Vec<ConfigWarning>), ConfigError> {
        let read = ParsedConfig::from_toml(text, origin)?;
        Ok((read.config, read.warnings))
    }

    /// Reads a JSON object, such as a program has it. A `null` is as good as absent.
    pub fn from_json(
        members: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<(Self, Vec<ConfigWarning>), ConfigError> {
        let mut config = Self::default();
        let mut unknown = Vec::new();
        for (name, value) in members {
            if name == RULE {
                config.rules = rules::from_json(value)?;
                continue;
            }
            match keys::known_key(name) {
                Some(key) => keys::put_value(&mut config, key, &ConfigValue::from(value), None)
                    .map_err(ConfigError::Refused)?,
                None => unknown.push(unknown_key(name)),
            }
        }
        let given = |key| members.get(key).is_some_and(|value| !value.is_null());
        if given("approval_mode") && given("permission_mode") {
            return Err(ConfigError::Refused(ConfigProblem::TwoModes));
        }
        Ok((config, one_warning(None, unknown, Vec::new())))
    }
}

/// A file that was read, and where everything stood in it.
#[derive(Debug, Default)]
pub(super) struct ParsedConfig {
    pub(super) config: Config,
    pub(super) warnings: Vec<ConfigWarning>,
    pub(super) written: BTreeMap<&'static str, WrittenValue>,
}

/// A value as it was written.
#[derive(Debug)]
pub(super) struct WrittenValue {
    pub(super) place: FilePosition,
    pub(super) shown: String,
}

/// The key of the prices of tokens.
const PRICES: &str = "prices";

/// The key of the settings of fleets.
const FLEET: &str = "fleet";

impl ParsedConfig {
    pub(super) fn from_toml(text: &str, origin: &Path) -> Result<Self, ConfigError> {
        let place = |byte| FilePosition::from_offset(origin.to_owned(), text, byte);
        let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            place: place(error.span().map_or(0, |span| span.start)),
            reason: error.message().replace('\n', ", "),
        })?;
        let mut read = Self::default();
        let (mut unknown, mut places) = (Vec::new(), Vec::new());
        for (name, value) in in_order(table.get_ref()) {
            if name.get_ref() == PRICES {
                let prices = PriceTable::from_toml(text).map_err(|error| ConfigError::Syntax {
                    place: place(name.span().start),
                    reason: error.to_string(),
                })?;
                read.config.prices = Some(prices);
                continue;
            }
            // The settings of fleets are read by their own crate, from the user's file only.
            if name.get_ref() == FLEET {
                continue;
            }
            if name.get_ref() == RULE {
                read.config.rules = rules::from_toml(value, text, origin)?;
                continue;
            }
            if name.get_ref() == AGENTS {
                read.config.agents = agents::from_toml(value, text, origin)?;
                let place = place(name.span().start);
                let shown = ConfigValue::from_toml(value.get_ref()).python_repr();
                read.written.insert(AGENTS, WrittenValue { place, shown });
                continue;
            }
            let Some(key) = keys::known_key(name.get_ref()) else {
                let key = unknown_key(name.get_ref());
                // A misspelt list of rules is an error: if it were ignored, the user would believe that the rules are enforced.
                if key.nearest == Some(RULE) && matches!(value.get_ref(), DeValue::Array(_)) {
                    let place = place(name.span().start);
                    let problem = ConfigProblem::NoSuchKey { key };
                    return Err(ConfigError::At { place, problem });
                }
                unknown.push(key);
                places.push(place(name.span().start));
                continue;
            };
            let place = place(value.span().start);
            let value = ConfigValue::from_toml(value.get_ref());
            read.put_key(key, &value, place, origin)?;
        }
        read.warnings = one_warning(Some(origin), unknown, places);
        Ok(read)
    }

    fn put_key(
        &mut self,
        key: &'static str,
        value: &ConfigValue,
        place: FilePosition,
        origin: &Path,
    ) -> Result<(), ConfigError> {
        let other_name = match key {
            "approval_mode" => Some("permission_mode"),
            "permission_mode" => Some("approval_mode"),
            _ => None,
        };
        let twice = other_name.is_some_and(|other| self.written.contains_key(other));
        let put = if twice {
            Err(ConfigProblem::TwoModes)
        } else {
            keys::put_value(&mut self.config, key, value, origin.parent())
        };
        if let Err(problem) = put {
            return Err(ConfigError::At { place, problem });
        }
        let shown = value.python_repr();
        self.written.insert(key, WrittenValue { place, shown });
        Ok(())
    }
}

/// The entries as they stand in the file; the parser sorts them by name.
pub(super) fn in_order<'a, 'i>(
    table: &'a DeTable<'i>,
) -> Vec<(
    &'a Spanned<std::borrow::Cow<'i, str>>,
    &'a Spanned<DeValue<'i>>,
)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

pub(super) fn unknown_key(name: &str) -> UnknownKey {
    UnknownKey {
        key: name.to_owned(),
        nearest: nearest_of(name, keys::KEYS.into_iter().chain([RULE])),
    }
}

/// A key that is none of these.
pub(crate) fn unknown_among(name: &str, keys: &[&'static str]) -> UnknownKey {
    UnknownKey {
        key: name.to_owned(),
        nearest: nearest_of(name, keys.iter().copied()),
    }
}

/// One warning, however many keys there are.
fn one_warning(
    origin: Option<&Path>,
    keys: Vec<UnknownKey>,
    places: Vec<FilePosition>,
) -> Vec<ConfigWarning> {
    if keys.is_empty() {
        return Vec::new();
    }
    let origin = origin.map(Path::to_owned);
    vec![ConfigWarning::UnknownKeys {
        origin,
        keys,
        places,
    }]
}
