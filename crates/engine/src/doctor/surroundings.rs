//! The conditions of a run: trust, an account, settings of Gemini CLI and of ours.

use lapidary_gemini::auth::SignInMethod;
use lapidary_gemini::settings::Settings;
use lapidary_gemini::trust::{Trust, TrustDoubt};
use lapidary_gemini::{GeminiHome, UpstreamReaction, Vars};
use lapidary_vocab::doctor::{Check, CheckName, CheckState};

use super::DoctorTarget;
use crate::gemini_cli;

/// There is no home directory: Gemini CLI's settings cannot be checked.
pub(super) fn homeless_check() -> Check {
    let message = "there is no home directory to look for Gemini CLI's settings in";
    let check = Check::new(CheckName::Settings, CheckState::Warning, message);
    check.remedy("set HOME")
}

/// Whether a run may work in the directory.
pub(super) fn trust_check(patient: &DoctorTarget<'_>, trust: &Trust, asks: bool) -> Check {
    let check = |state, message: String| Check::new(CheckName::Trust, state, message);
    let directory = patient.directory.display();
    let config = patient.config.as_ref().ok();
    if config.is_some_and(|loaded| loaded.config.trust_workspace == Some(true)) {
        let message =
            format!("`{directory}` is trusted: `trust_workspace` is set in lapidary.toml");
        return check(CheckState::Ok, message);
    }
    match trust {
        Trust::Trusted(reason) => check(
            CheckState::Ok,
            format!("`{directory}` is trusted: {reason}"),
        ),
        Trust::Untrusted(_) if !asks => {
            let message = format!("this version does not ask whether `{directory}` is trusted");
            check(CheckState::Ok, message)
        }
        Trust::Untrusted(reason) => {
            let message = format!("`{directory}` is not a trusted folder: {reason}");
            check(CheckState::Problem, message).remedy(gemini_cli::trust_hint(reason))
        }
        Trust::Unknown(doubt @ TrustDoubt::BadFile { .. }) => {
            check(CheckState::Problem, doubt.to_string()).remedy("repair the file")
        }
        Trust::Unknown(doubt) => {
            let message =
                format!("whether `{directory}` is trusted, only Gemini CLI can tell: {doubt}");
            check(CheckState::Warning, message)
        }
    }
}

/// Whether the user is signed in, as far as local files and variables show it.
pub(super) fn sign_in_check(
    patient: &DoctorTarget<'_>,
    home: &GeminiHome,
    settings: &Settings,
    trust: &Trust,
) -> Check {
    let vars = Vars::new(&patient.environment.vars);
    let check = |state, message: String| Check::new(CheckName::Auth, state, message);
    let sign_in = "run `gemini` once and sign in, or set GEMINI_API_KEY";
    match SignInMethod::detect(patient.directory, home, vars, settings, trust.workspace()) {
        SignInMethod::Ready { method, by } => check(CheckState::Ok, format!("{method}: {by}")),
        SignInMethod::Doubtful { method, missing } => {
            let message = format!("{method}, but {missing} was not found; a keychain may have it");
            check(CheckState::Warning, message).remedy(sign_in)
        }
        SignInMethod::Unusable { method, why } => {
            let check = check(CheckState::Problem, format!("{method}: {why}"));
            check.remedy("set `security.auth.selectedType` in settings.json to a method that works, such as `gemini-api-key`, or sign in with `gemini`")
        }
        SignInMethod::None => check(
            CheckState::Problem,
            "no way to sign in was found".to_owned(),
        )
        .remedy(sign_in),
    }
}

/// Whether Gemini CLI will be able to read its settings. One for each file that it cannot, or we cannot.
pub(super) fn settings_checks(settings: &Settings) -> Vec<Check> {
    let check = |state, message: String| Check::new(CheckName::Settings, state, message);
    let broken = settings.files.iter().filter_map(|file| {
        let error = file.content.as_ref().err()?;
        let message = format!("`{}` {error}", file.path.display());
        Some(match error.verdict(&file.path) {
            UpstreamReaction::Refuses => check(CheckState::Problem, message)
                .remedy("repair it: Gemini CLI ends with exit code 52"),
            verdict => check(CheckState::Warning, format!("{message}; {verdict}")),
        })
    });
    let broken: Vec<_> = broken.collect();
    if !broken.is_empty() {
        return broken;
    }
    let names = settings
        .files
        .iter()
        .map(|file| format!("`{}`", file.path.display()));
    let names: Vec<_> = names.collect();
    let message = match names.len() {
        0 => "Gemini CLI has none".to_owned(),
        _ => names.join(", "),
    };
    vec![check(CheckState::Ok, message)]
}

/// Whether our own configuration can be used.
pub(super) fn config_checks(patient: &DoctorTarget<'_>) -> Vec<Check> {
    let check = |state, message: String| Check::new(CheckName::Config, state, message);
    match patient.config {
        Err(error) => {
            let problem = check(CheckState::Problem, error.to_string());
            vec![match error.hint() {
                Some(hint) => problem.remedy(hint),
                None => problem,
            }]
        }
        Ok(loaded) if loaded.warnings.is_empty() => {
            let files = patient.config_files.iter();
            let names: Vec<_> = files.map(|path| format!("`{}`", path.display())).collect();
            let message = match names.len() {
                0 => "there is no lapidary.toml".to_owned(),
                _ => names.join(", "),
            };
            vec![check(CheckState::Ok, message)]
        }
        Ok(loaded) => loaded
            .warnings
            .iter()
            .map(|warning| check(CheckState::Warning, warning.to_string()))
            .collect(),
    }
}
