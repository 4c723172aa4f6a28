//! Whether a run would work here, and the remedies if not. No model is called, and no file is written outside a scratch
//! directory.
//!
//! Each check reports its object, its result, and the remedy. Two programs are started, `node --version` and the agent's own
//! `--version`, both supervised and with a deadline.

mod acp;
mod agent;
mod ask;
mod confinement;
mod node;
mod remote;
mod rules;
mod state;
mod surroundings;

pub use acp::{examine_acp, known_agents};
pub use remote::examine_remote;

use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary_gemini::settings::Settings;
use lapidary_gemini::trust::Trust;
use lapidary_gemini::{GeminiHome, Vars};
use lapidary_vocab::doctor::{Check, CheckName, CheckState};

use crate::agents::AgentSpec;
use crate::capabilities::gemini_capabilities;
use crate::config::{ConfigError, LoadedConfig};
use crate::detect::AgentVersion;
use crate::detect::{self, FoundProgram, SearchEnvironment};
use crate::gemini_cli;
use crate::process::Supervisor;

/// The agent and the machine to check.
#[derive(Debug)]
pub struct DoctorTarget<'a> {
    /// The variables that an agent would inherit.
    pub environment: &'a SearchEnvironment,
    /// Where it would work. An absolute path.
    pub directory: &'a Path,
    /// The program that would supervise it.
    pub supervisor: &'a Supervisor,
    /// Where recordings go.
    pub state_directory: &'a Path,
    /// Our own configuration.
    pub config: &'a Result<LoadedConfig, ConfigError>,
    /// The files that it is made of, if they are there.
    pub config_files: &'a [PathBuf],
    /// How long the agent may take to say its version.
    pub patience: Duration,
    /// A directory for the output of started programs. The caller removes it.
    pub scratch: &'a Path,
}

/// Makes all checks. Each check is passed to `tell` as soon as it is made.
pub async fn examine(patient: &DoctorTarget<'_>, mut tell: impl FnMut(Check)) {
    let detected = detect::gemini(patient.environment);
    tell(agent::installed_check(patient.environment, &detected));
    let version = if let Ok(found) = &detected {
        check_programs(patient, found, &mut tell).await
    } else {
        skipped_checks().into_iter().for_each(&mut tell);
        None
    };
    let vars = Vars::new(&patient.environment.vars);
    let home = GeminiHome::from_vars(vars, patient.environment.home.as_deref());
    match home {
        Some(home) => {
            let settings = Settings::read(&home, patient.directory);
            let trust = Trust::with_settings(patient.directory, &home, vars, &settings);
            let asks = gemini_cli::version_has(version.as_ref(), gemini_cli::TRUST);
            tell(surroundings::trust_check(patient, &trust, asks));
            tell(surroundings::sign_in_check(
                patient, &home, &settings, &trust,
            ));
            surroundings::settings_checks(&settings)
                .into_iter()
                .for_each(&mut tell);
        }
        None => tell(surroundings::homeless_check()),
    }
    surroundings::config_checks(patient)
        .into_iter()
        .for_each(&mut tell);
    tell(state::writable_check(patient.state_directory));
    tell(confinement::check(
        patient,
        AgentSpec::named(gemini_cli::NAME),
    ));
    if let Some(check) = rules::check(&gemini_capabilities(&detected).rules) {
        tell(check);
    }
}

/// The checks that start programs. Returns the version.
async fn check_programs(
    patient: &DoctorTarget<'_>,
    found: &FoundProgram,
    tell: &mut impl FnMut(Check),
) -> Option<AgentVersion> {
    tell(node::check(patient, found).await);
    let (start, printed) = agent::start_check(patient, found).await;
    tell(start);
    let version = printed.as_ref().or(found.version.as_ref());
    tell(agent::version_check(found, printed.as_ref()));
    version.cloned()
}

/// The checks that are skipped without an agent.
fn skipped_checks() -> [Check; 3] {
    let names = [CheckName::Node, CheckName::Start, CheckName::Version];
    names.map(|name| Check::new(name, CheckState::Skipped, "there is no agent to ask"))
}
