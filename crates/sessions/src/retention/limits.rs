//! The limits: `general.sessionRetention` of the settings, or those of the command line.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use lapidary_wire::gemini::hooks::is_truthy;
use serde_json::Value;

use lapidary_gemini::settings::{Settings, WorkspaceTrust};

/// The defaults since 0.61.
const DEFAULT_MAX_AGE: &str = "30d";
const DEFAULT_MIN_RETENTION: &str = "1d";

/// Limits as they were written, not checked yet.
#[derive(Debug, Clone, PartialEq)]
pub struct RetentionLimits {
    /// Whether sessions go at all.
    pub enabled: bool,
    /// How long they are kept.
    pub max_age: Option<String>,
    /// How many are kept.
    pub max_count: Option<Value>,
    /// How long they are kept in any case.
    pub min_retention: Option<String>,
}

/// Limits that make sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionRules {
    /// How long sessions are kept to which nothing is added.
    pub max_age: Option<RetentionPeriod>,
    /// How many are kept of a project.
    pub max_count: Option<u64>,
    /// How long every written file is kept.
    pub min_retention: RetentionPeriod,
    /// Invalid limits, which are ignored: a sentence each.
    pub warnings: Vec<String>,
}

/// A time such as `12h`, `30d`, `4w` or `6m`. A month has thirty days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetentionPeriod(Duration);

/// Why nothing goes. In the words of the CLI, where it has any.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetentionError {
    /// The settings switch it off.
    #[error("Retention not enabled")]
    NotEnabled,
    /// A period is no period.
    #[error(
        "Invalid retention period format: {0}. Expected format: <number><unit> where unit is h, d, w, or m"
    )]
    BadPeriod(String),
    /// A period is nothing.
    #[error("Invalid retention period: {0}. Value must be greater than 0")]
    NoPeriod(String),
    /// A session would be removed before it may be.
    #[error("maxAge cannot be less than minRetention ({0})")]
    BelowMinimum(String),
    /// A count of 0: no session would stay.
    #[error("maxCount must be at least 1")]
    BadCount,
    /// A number is no number.
    #[error("maxCount must be a number, not {0}")]
    NotACount(String),
    /// There is nothing to go by.
    #[error("Either maxAge or maxCount must be specified")]
    NoLimit,
    /// Settings that cannot be read may say that everything is to be kept.
    #[error("`{}` {problem}", .path.display())]
    BadSettings {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
}

impl RetentionLimits {
    /// Reads the limits from the settings: those of the workspace only if it is trusted.
    pub fn from_settings(
        settings: &Settings,
        workspace: WorkspaceTrust,
    ) -> Result<Self, RetentionError> {
        for file in &settings.files {
            if let Err(error) = &file.content {
                return Err(RetentionError::BadSettings {
                    path: file.path.clone(),
                    problem: error.to_string(),
                });
            }
        }
        let get = |key: &str| settings.get(&["general", "sessionRetention", key], workspace);
        let text = |key: &str| get(key).filter(|value| is_truthy(value)).map(plain_text);
        Ok(Self {
            enabled: get("enabled").is_none_or(is_truthy),
            max_age: match get("maxAge") {
                None => Some(DEFAULT_MAX_AGE.to_owned()),
                Some(_) => text("maxAge"),
            },
            max_count: get("maxCount").filter(|value| !value.is_null()).cloned(),
            min_retention: text("minRetention"),
        })
    }

    /// Checks them as the CLI does before it removes sessions.
    pub fn checked(&self) -> Result<RetentionRules, RetentionError> {
        if !self.enabled {
            return Err(RetentionError::NotEnabled);
        }
        let mut warnings = Vec::new();
        let named = self
            .min_retention
            .as_deref()
            .unwrap_or(DEFAULT_MIN_RETENTION);
        let min_retention = named.parse().or_else(|error: RetentionError| {
            warnings.push(format!(
                "minRetention counts as {DEFAULT_MIN_RETENTION}: {error}"
            ));
            DEFAULT_MIN_RETENTION.parse()
        })?;
        let max_age: Option<RetentionPeriod> =
            self.max_age.as_deref().map(str::parse).transpose()?;
        if max_age.is_some_and(|age| age < min_retention) {
            return Err(RetentionError::BelowMinimum(named.to_owned()));
        }
        let max_count = self.max_count.as_ref().map(parse_count).transpose()?;
        if max_age.is_none() && max_count.is_none() {
            return Err(RetentionError::NoLimit);
        }
        Ok(RetentionRules {
            max_age,
            max_count,
            min_retention,
            warnings,
        })
    }
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A number of sessions. Of one and a half, two stay.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is at least one, and saturates"
)]
fn parse_count(value: &Value) -> Result<u64, RetentionError> {
    let Some(number) = value.as_f64() else {
        return Err(RetentionError::NotACount(value.to_string()));
    };
    if number < 1.0 {
        return Err(RetentionError::BadCount);
    }
    Ok(number.ceil() as u64)
}

impl RetentionPeriod {
    /// How long it is.
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl std::str::FromStr for RetentionPeriod {
    type Err = RetentionError;

    fn from_str(text: &str) -> Result<Self, RetentionError> {
        const HOUR: u64 = 60 * 60;
        let bad = || RetentionError::BadPeriod(text.to_owned());
        let (digits, unit) = text
            .split_at_checked(text.len().saturating_sub(1))
            .ok_or_else(bad)?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let hours = match unit {
            "h" => 1,
            "d" => 24,
            "w" => 7 * 24,
            "m" => 30 * 24,
            _ => return Err(bad()),
        };
        if !is_number {
            return Err(bad());
        }
        // More than that many is for ever.
        let number: u64 = digits.parse().unwrap_or(u64::MAX);
        if number == 0 {
            return Err(RetentionError::NoPeriod(text.to_owned()));
        }
        let seconds = number.saturating_mul(hours * HOUR);
        Ok(Self(Duration::from_secs(seconds)))
    }
}

impl fmt::Display for RetentionPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.0.as_secs() / (60 * 60);
        if hours.is_multiple_of(24) {
            write!(f, "{}d", hours / 24)
        } else {
            write!(f, "{hours}h")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_a_number_and_one_of_four_letters() {
        let hours = |text: &str| {
            text.parse::<RetentionPeriod>()
                .map(|period| period.0.as_secs() / 3600)
        };
        assert_eq!(hours("1h"), Ok(1));
        assert_eq!(hours("30d"), Ok(720));
        assert_eq!(hours("2w"), Ok(336));
        assert_eq!(hours("006m"), Ok(4320));
        assert!(hours(&format!("{}m", "9".repeat(400))).is_ok());
        for bad in [
            "", "d", "30", "30D", "30y", "-1d", "+1d", "1.5d", " 1d", "1d ", "1 d", "1d1d", "٣d",
            "1é", "é",
        ] {
            assert_eq!(
                hours(bad),
                Err(RetentionError::BadPeriod(bad.to_owned())),
                "{bad}"
            );
        }
        assert_eq!(hours("0d"), Err(RetentionError::NoPeriod("0d".to_owned())));
    }
}
