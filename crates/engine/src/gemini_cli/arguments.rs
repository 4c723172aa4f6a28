//! Writing arguments so that no value is taken for a flag.

use std::ffi::{OsStr, OsString};

use super::problem::LaunchError;

/// A list of arguments that grows.
#[derive(Debug, Default)]
pub(super) struct ArgumentList(Vec<OsString>);

impl ArgumentList {
    pub(super) fn add_flag(&mut self, flag: &str) {
        self.0.push(flag.into());
    }

    /// A flag and a value of ours.
    pub(super) fn add_pair(&mut self, flag: &str, value: &str) {
        self.0.extend([flag.into(), value.into()]);
    }

    /// A flag and a value of the user's. `long` is for values that begin with a hyphen, which only go with `=`.
    pub(super) fn add_user_value(
        &mut self,
        what: &'static str,
        short: &str,
        long: &str,
        value: &str,
    ) -> Result<(), LaunchError> {
        if value.trim().is_empty() {
            return Err(bad_argument(what, value.as_ref(), "it is empty"));
        }
        self.add_checked(what, short, long, value.as_ref())
    }

    /// A flag that takes several values, one at a time. The CLI cuts each at its commas, and would take the pieces for
    /// directories or tools that the user did not name.
    pub(super) fn add_list_value(
        &mut self,
        what: &'static str,
        flag: &str,
        value: &OsStr,
    ) -> Result<(), LaunchError> {
        if value.as_encoded_bytes().contains(&b',') {
            return Err(bad_argument(
                what,
                value,
                "Gemini CLI would cut it at its comma",
            ));
        }
        self.add_checked(what, flag, flag, value)
    }

    pub(super) fn add_arguments(&mut self, args: &[OsString]) {
        self.0.extend_from_slice(args);
    }

    pub(super) fn into_vec(self) -> Vec<OsString> {
        self.0
    }

    fn add_checked(
        &mut self,
        what: &'static str,
        short: &str,
        long: &str,
        value: &OsStr,
    ) -> Result<(), LaunchError> {
        if value.as_encoded_bytes().contains(&0) {
            return Err(bad_argument(what, value, "it holds a NUL character"));
        }
        if value.as_encoded_bytes().starts_with(b"-") {
            let mut joined = OsString::from(long);
            joined.push("=");
            joined.push(value);
            self.0.push(joined);
        } else {
            self.0.extend([short.into(), value.to_owned()]);
        }
        Ok(())
    }
}

fn bad_argument(what: &'static str, value: &OsStr, reason: &'static str) -> LaunchError {
    LaunchError::BadValue {
        what,
        value: value.to_string_lossy().into_owned(),
        reason,
    }
}
