//! `[agents.NAME]` in a file: agents of the user's own, or known ones that are started in another way.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{ConfigError, ConfigProblem, FilePosition, UnknownKey};
use super::read::in_order;
use super::value::ConfigValue;
use crate::agents::{
    AcpAgent, AgentSpec, AgentUrl, RemoteEndpoint, TokenPlace, family, split_words,
};
use lapidary_policy::nearest::nearest_of;

/// The key.
pub(super) const AGENTS: &str = "agents";

/// The accepted values of `command`, for messages.
const COMMAND: &str = "a command line or a list of its words";

/// The same, where an address could stand instead.
const ORIGIN: &str = "a command line or a list of its words (or `url` an address)";

/// The keys of an agent's table.
const FIELDS: [&str; 10] = [
    "command",
    "url",
    "token_file",
    "token_env",
    "token_command",
    "env",
    "family",
    "install",
    "default_mode",
    "plan_mode",
];

/// The keys of an agent's table that start it, or say where it is.
const ORIGINS: [&str; 2] = ["command", "url"];

/// The keys that name the place of a token.
const TOKENS: [&str; 3] = ["token_file", "token_env", "token_command"];

/// The agents of a file, under their names.
pub(super) fn from_toml(
    value: &Spanned<DeValue<'_>>,
    text: &str,
    origin: &Path,
) -> Result<BTreeMap<String, AcpAgent>, ConfigError> {
    let at = |byte, problem| ConfigError::At {
        place: FilePosition::from_offset(origin.to_owned(), text, byte),
        problem,
    };
    let not_a_table = |value: &Spanned<DeValue<'_>>| {
        let got = ConfigValue::from_toml(value.get_ref()).python_repr();
        at(
            value.span().start,
            unfit_value("agents", "a table for each agent", got),
        )
    };
    let DeValue::Table(tables) = value.get_ref() else {
        return Err(not_a_table(value));
    };
    let mut agents = BTreeMap::new();
    for (name, value) in in_order(tables) {
        let DeValue::Table(table) = value.get_ref() else {
            return Err(not_a_table(value));
        };
        let read = parse_agent(name.get_ref(), table, origin);
        let (agent, start) = (read, name.span().start);
        let agent = agent.map_err(|(place, problem)| at(place.unwrap_or(start), problem))?;
        agents.insert(name.get_ref().to_string(), agent);
    }
    Ok(agents)
}

/// A problem, and its byte offset if that is known.
type AgentMistake = (Option<usize>, ConfigProblem);

fn parse_agent(name: &str, table: &DeTable<'_>, origin: &Path) -> Result<AcpAgent, AgentMistake> {
    let known = AgentSpec::named(name);
    check_keys(table)?;
    let mut agent = AcpAgent {
        name: name.to_owned(),
        provider: family(name),
        program: PathBuf::new(),
        args: Vec::new(),
        environment: Vec::new(),
        modes: known.map(AgentSpec::modes).unwrap_or_default(),
        install: known.map(|known| known.install.to_owned()),
        endpoint: None,
    };
    let mut token = None;
    for (key, value) in in_order(table) {
        let field = FIELDS.into_iter().find(|field| *field == key.get_ref());
        let Some(field) = field else {
            let nearest = nearest_of(key.get_ref(), FIELDS);
            let unknown = UnknownKey {
                key: key.get_ref().to_string(),
                nearest,
            };
            let problem = ConfigProblem::NoSuchKey { key: unknown };
            return Err((Some(key.span().start), problem));
        };
        let at_value = |problem| (Some(value.span().start), problem);
        if TOKENS.contains(&field) {
            let place = token_place(field, value.get_ref(), origin).map_err(at_value)?;
            token = Some((field, value.span().start, place));
        } else {
            put_field(&mut agent, field, value.get_ref()).map_err(at_value)?;
        }
    }
    if let Some(endpoint) = &mut agent.endpoint {
        if let Some((key, start, place)) = token {
            if !endpoint.url.is_protected() {
                let problem = ConfigProblem::UnprotectedToken { key };
                return Err((Some(start), problem));
            }
            endpoint.token = Some(place);
        }
        return Ok(agent);
    }
    if let Some((key, start, _)) = token {
        return Err((Some(start), ConfigProblem::TokenWithoutUrl { key }));
    }
    if agent.program.as_os_str().is_empty() {
        let problem = unfit_value("command", ORIGIN, "nothing".to_owned());
        return Err((None, problem));
    }
    Ok(agent)
}

fn put_field(
    agent: &mut AcpAgent,
    field: &'static str,
    value: &DeValue<'_>,
) -> Result<(), ConfigProblem> {
    match field {
        "command" => {
            let mut words = parse_command(field, value)?.into_iter();
            agent.program = words.next().map(PathBuf::from).unwrap_or_default();
            agent.args = words.map(OsString::from).collect();
        }
        "url" => {
            let url =
                AgentUrl::parse(&expect_text(field, value)?).map_err(ConfigProblem::AgentUrl)?;
            agent.endpoint = Some(RemoteEndpoint { url, token: None });
        }
        "env" => agent.environment = parse_environment(value)?,
        "family" => agent.provider = family(&expect_text(field, value)?),
        "install" => agent.install = Some(expect_text(field, value)?),
        "default_mode" => agent.modes.default = Some(expect_text(field, value)?),
        _ => agent.modes.plan = Some(expect_text(field, value)?),
    }
    Ok(())
}

/// An agent is started or reached, and its token has one place.
fn check_keys(table: &DeTable<'_>) -> Result<(), AgentMistake> {
    for group in [&ORIGINS[..], &TOKENS[..]] {
        let is_given = |key: &&'static str| table.contains_key(*key);
        let keys: Vec<_> = group.iter().copied().filter(is_given).collect();
        if keys.len() > 1 {
            return Err((None, ConfigProblem::Excluding { keys }));
        }
    }
    Ok(())
}

/// The place of a token. A file is relative to the configuration.
fn token_place(
    field: &'static str,
    value: &DeValue<'_>,
    origin: &Path,
) -> Result<TokenPlace, ConfigProblem> {
    Ok(match field {
        "token_file" => {
            let directory = origin.parent().unwrap_or(Path::new(""));
            TokenPlace::File(directory.join(expect_text(field, value)?))
        }
        "token_env" => TokenPlace::Variable(expect_text(field, value)?),
        _ => {
            let words = parse_command(field, value)?;
            if words.is_empty() {
                return Err(unfit_value(field, COMMAND, "nothing".to_owned()));
            }
            TokenPlace::Command(words)
        }
    })
}

/// A line that is split as a shell would, or the words themselves.
fn parse_command(key: &'static str, value: &DeValue<'_>) -> Result<Vec<String>, ConfigProblem> {
    let refused = || unfit_value(key, COMMAND, ConfigValue::from_toml(value).python_repr());
    match value {
        DeValue::String(line) => split_words(line).map_err(|_| refused()),
        DeValue::Array(words) => {
            let word = |word: &Spanned<DeValue<'_>>| match word.get_ref() {
                DeValue::String(word) => Ok(word.to_string()),
                _ => Err(refused()),
            };
            words.iter().map(word).collect()
        }
        _ => Err(refused()),
    }
}

fn parse_environment(value: &DeValue<'_>) -> Result<Vec<(OsString, OsString)>, ConfigProblem> {
    let refused = || {
        unfit_value(
            "env",
            "a table of texts",
            ConfigValue::from_toml(value).python_repr(),
        )
    };
    let DeValue::Table(table) = value else {
        return Err(refused());
    };
    let pairs = in_order(table).into_iter().map(|(name, value)| {
        let DeValue::String(value) = value.get_ref() else {
            return Err(refused());
        };
        let name = OsString::from(name.get_ref().as_ref());
        Ok((name, OsString::from(value.as_ref())))
    });
    pairs.collect()
}

fn expect_text(key: &'static str, value: &DeValue<'_>) -> Result<String, ConfigProblem> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        other => Err(unfit_value(
            key,
            "a text",
            ConfigValue::from_toml(other).python_repr(),
        )),
    }
}

fn unfit_value(key: &'static str, accepted: &'static str, got: String) -> ConfigProblem {
    ConfigProblem::Unfit { key, accepted, got }
}
