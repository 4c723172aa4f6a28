//! The table of keys: the accepted values of each, and its field.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary_normalize::OnDenied;
use lapidary_sessions::RetentionPeriod;

use super::duration::with_units;
use super::problem::ConfigProblem;
use super::value::ConfigValue;
use super::{ApprovalMode, Config, PermissionMode, TransportChoice};
use crate::OnViolation;
use crate::budget::{Budget, BudgetUnknown};
use crate::confine::{ConfineMode, ConfinementNeed};

/// The keys that the provider's specification has.
pub const PROVIDER_KEYS: [&str; 7] = [
    "model",
    "sandbox",
    "approval_mode",
    "include_directories",
    "allowed_tools",
    "working_dir",
    "timeout",
];

/// Every key: the keys of the specification, then ours.
pub const KEYS: [&str; 29] = [
    "model",
    "sandbox",
    "approval_mode",
    "include_directories",
    "allowed_tools",
    "working_dir",
    "timeout",
    "agent",
    "transport",
    "permission_mode",
    "start_timeout",
    "idle_timeout",
    "grace",
    "retries",
    "system_prompt",
    "max_output",
    "record",
    "runs_max_age",
    "runs_max_size",
    "trust_workspace",
    "budget",
    "max_turns",
    "budget_unknown",
    "on_denied",
    "on_violation",
    "confine",
    "confinement",
    "confine_write",
    "confine_connect",
];

/// The longest time that is accepted, in seconds: about thirty years. Much longer times overflow clocks.
const LONGEST: f64 = 1e9;

/// The key as the table spells it.
pub(super) fn known_key(name: &str) -> Option<&'static str> {
    KEYS.into_iter().find(|key| *key == name)
}

/// Puts a value into the configuration. Relative paths count from `dir`, where one is given.
pub(super) fn put_value(
    config: &mut Config,
    key: &'static str,
    value: &ConfigValue,
    dir: Option<&Path>,
) -> Result<(), ConfigProblem> {
    if *value == ConfigValue::Null {
        return Ok(());
    }
    let path = |text: String| match dir {
        Some(dir) => dir.join(text),
        None => PathBuf::from(text),
    };
    match key {
        "agent" => config.agent = Some(text_value(key, value)?),
        "model" => config.model = Some(text_value(key, value)?),
        "system_prompt" => config.system_prompt = Some(text_value(key, value)?),
        "working_dir" => config.working_dir = Some(path(text_value(key, value)?)),
        "sandbox" => config.sandbox = Some(bool_value(key, value)?),
        "record" => config.record = Some(bool_value(key, value)?),
        "runs_max_age" => config.runs_max_age = Some(age_value(key, value)?),
        "runs_max_size" => config.runs_max_size = Some(size_value(key, value)?),
        "trust_workspace" => config.trust_workspace = Some(bool_value(key, value)?),
        "timeout" => config.timeout = Some(seconds_value(key, value)?),
        "start_timeout" => config.start_timeout = Some(limit_value(key, value)?),
        "idle_timeout" => config.idle_timeout = Some(limit_value(key, value)?),
        "grace" => config.grace = Some(seconds_value(key, value)?),
        "max_turns" => config.max_turns = Some(turn_count(key, value)?),
        "retries" => config.retries = Some(count_value(key, value)?),
        "max_output" => config.max_output = Some(byte_count(key, value)?),
        "allowed_tools" => config.allowed_tools = Some(text_list(key, value)?),
        "include_directories" => {
            config.include_directories =
                Some(text_list(key, value)?.into_iter().map(path).collect());
        }
        "approval_mode" => {
            let mode = one_of(key, value, ApprovalMode::ALL, ApprovalMode::as_str)?;
            config.permission_mode = Some(mode.into());
        }
        "permission_mode" => {
            let mode = one_of(key, value, PermissionMode::ALL, PermissionMode::as_str)?;
            config.permission_mode = Some(mode);
        }
        "transport" => {
            let choice = one_of(key, value, TransportChoice::ALL, TransportChoice::as_str)?;
            config.transport = Some(choice);
        }
        "budget" => config.budget = Some(budget_value(key, value)?),
        "budget_unknown" => {
            let word = one_of(key, value, BudgetUnknown::ALL, BudgetUnknown::as_str)?;
            config.budget_unknown = Some(word);
        }
        "on_denied" => {
            config.on_denied = Some(one_of(key, value, OnDenied::ALL, OnDenied::as_str)?);
        }
        "on_violation" => {
            config.on_violation = Some(one_of(key, value, OnViolation::ALL, OnViolation::as_str)?);
        }
        "confine" => {
            config.confine = Some(one_of(key, value, ConfineMode::ALL, ConfineMode::as_str)?);
        }
        "confinement" => {
            let need = one_of(key, value, ConfinementNeed::ALL, ConfinementNeed::as_str)?;
            config.confinement = Some(need);
        }
        "confine_write" => {
            config.confine_write = Some(text_list(key, value)?.into_iter().map(path).collect());
        }
        "confine_connect" => config.confine_connect = Some(port_list(key, value)?),
        // `known` names no others, and a test puts a value under each.
        _ => {}
    }
    Ok(())
}

pub(super) fn unfit_value(
    key: &'static str,
    accepted: &'static str,
    value: &ConfigValue,
) -> ConfigProblem {
    ConfigProblem::Unfit {
        key,
        accepted,
        got: value.python_repr(),
    }
}

pub(super) fn text_value(key: &'static str, value: &ConfigValue) -> Result<String, ConfigProblem> {
    match value {
        ConfigValue::Str(text) if !text.trim().is_empty() => Ok(text.clone()),
        other => Err(unfit_value(key, "a string that is not empty", other)),
    }
}

fn budget_value(key: &'static str, value: &ConfigValue) -> Result<Budget, ConfigProblem> {
    let text = text_value(key, value)?;
    Budget::parse(&text).map_err(|error| ConfigProblem::Budget { key, error })
}

fn bool_value(key: &'static str, value: &ConfigValue) -> Result<bool, ConfigProblem> {
    match value {
        ConfigValue::Bool(truth) => Ok(*truth),
        other => Err(unfit_value(key, "true or false", other)),
    }
}

fn text_list(key: &'static str, value: &ConfigValue) -> Result<Vec<String>, ConfigProblem> {
    let ConfigValue::List(items) = value else {
        return Err(ConfigProblem::NotAList {
            key,
            got_type: value.type_name(),
            got: value.python_repr(),
        });
    };
    let strings = items.iter().map(|item| match item {
        ConfigValue::Str(text) if !text.trim().is_empty() => Ok(text.clone()),
        other => Err(unfit_value(
            key,
            "a list of strings that are not empty",
            &ConfigValue::from_iter([other.clone()]),
        )),
    });
    strings.collect()
}

fn one_of<T: Copy, const N: usize>(
    key: &'static str,
    value: &ConfigValue,
    all: [T; N],
    as_str: fn(T) -> &'static str,
) -> Result<T, ConfigProblem> {
    let is_it = |it: &T| matches!(value, ConfigValue::Str(word) if word == as_str(*it));
    let found = all.into_iter().find(is_it);
    found.ok_or_else(|| ConfigProblem::NotOneOf {
        key,
        accepted: all.map(as_str).to_vec(),
        got: value.python_repr(),
    })
}

/// The accepted values of a key for a time.
const TIME: &str = "a number of seconds, or a time such as '5m'";

/// A time: a number of seconds, or a text with units. `true` is no number, although it is one in Python.
fn seconds_value(key: &'static str, value: &ConfigValue) -> Result<Duration, ConfigProblem> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "whole numbers that lose precision are far beyond the longest time"
    )]
    let number = match value {
        ConfigValue::Int(whole) => *whole as f64,
        ConfigValue::Float(number) => *number,
        ConfigValue::Str(text) => with_units(text).ok_or_else(|| unfit_value(key, TIME, value))?,
        other => return Err(unfit_value(key, TIME, other)),
    };
    if number.is_nan() || number > LONGEST {
        return Err(unfit_value(key, "at most 1000000000 seconds", value));
    }
    // A negative number is no time, and neither is a number that rounds to zero.
    match Duration::try_from_secs_f64(number) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err(ConfigProblem::NotPositive {
            key,
            got: value.python_repr(),
        }),
    }
}

/// A time that can be without limit, which is written as 0. A number that only rounds to 0 is an error.
fn limit_value(key: &'static str, value: &ConfigValue) -> Result<Duration, ConfigProblem> {
    match (value, seconds_value(key, value)) {
        (ConfigValue::Int(0), _) => Ok(Duration::ZERO),
        (ConfigValue::Float(zero), _) if *zero == 0.0 => Ok(Duration::ZERO),
        (ConfigValue::Str(text), _) if with_units(text) == Some(0.0) => Ok(Duration::ZERO),
        (_, Err(ConfigProblem::NotPositive { .. })) => {
            Err(unfit_value(key, "a time, or 0 for no limit", value))
        }
        (_, read) => read,
    }
}

/// The word for a limit that is none.
pub(super) const UNLIMITED: &str = "unlimited";

/// An age after which recordings are deleted: hours, days, weeks or months.
fn age_value(key: &'static str, value: &ConfigValue) -> Result<Duration, ConfigProblem> {
    let accepted = "an age such as \"30d\" (h, d, w or m), or \"unlimited\"";
    match value {
        ConfigValue::Str(text) if text == UNLIMITED => Ok(Duration::MAX),
        ConfigValue::Str(text) => match text.parse::<RetentionPeriod>() {
            Ok(period) => Ok(period.duration()),
            Err(_) => Err(unfit_value(key, accepted, value)),
        },
        other => Err(unfit_value(key, accepted, other)),
    }
}

/// A number of bytes, or a text with a unit.
fn size_value(key: &'static str, value: &ConfigValue) -> Result<u64, ConfigProblem> {
    let accepted = "a size such as \"2GiB\" or \"500MB\", a number of bytes, or \"unlimited\"";
    match value {
        ConfigValue::Int(number) if *number > 0 => Ok(number.unsigned_abs()),
        ConfigValue::Str(text) if text == UNLIMITED => Ok(u64::MAX),
        ConfigValue::Str(text) => {
            size_in_bytes(text).ok_or_else(|| unfit_value(key, accepted, value))
        }
        other => Err(unfit_value(key, accepted, other)),
    }
}

fn size_in_bytes(text: &str) -> Option<u64> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return None,
    };
    let bytes = number.parse::<u64>().ok()?.checked_mul(factor)?;
    (bytes > 0).then_some(bytes)
}

fn count_value(key: &'static str, value: &ConfigValue) -> Result<u32, ConfigProblem> {
    let number = match value {
        ConfigValue::Int(whole) => u32::try_from(*whole).ok(),
        _ => None,
    };
    number.ok_or_else(|| unfit_value(key, "a whole number from 0", value))
}

fn port_list(key: &'static str, value: &ConfigValue) -> Result<Vec<u16>, ConfigProblem> {
    let accepted = "a list of ports from 1 to 65535";
    let ConfigValue::List(items) = value else {
        return Err(unfit_value(key, accepted, value));
    };
    let ports = items.iter().map(|item| match item {
        ConfigValue::Int(port) => u16::try_from(*port).ok().filter(|port| *port > 0),
        _ => None,
    });
    let ports: Option<Vec<_>> = ports.collect();
    ports.ok_or_else(|| unfit_value(key, accepted, value))
}

fn turn_count(key: &'static str, value: &ConfigValue) -> Result<u64, ConfigProblem> {
    match value {
        ConfigValue::Int(number) if *number > 0 => Ok(number.unsigned_abs()),
        other => Err(unfit_value(key, "a whole number from 1", other)),
    }
}

fn byte_count(key: &'static str, value: &ConfigValue) -> Result<u64, ConfigProblem> {
    match value {
        ConfigValue::Int(number) if *number <= 0 => Err(ConfigProblem::NotPositive {
            key,
            got: value.python_repr(),
        }),
        ConfigValue::Int(number) => Ok(number.unsigned_abs()),
        other => Err(unfit_value(key, "a whole number of bytes", other)),
    }
}
