//! Whether the kernel can confine an agent, and whether it does.

use lapidary_vocab::doctor::{Check, CheckName, CheckState};

use super::DoctorTarget;
use crate::agents::AgentSpec;
use crate::confine::{ConfineMode, ConfinementNeed};
use crate::process::LandlockAbi;

/// The confinement of an unattended run of the agent. An unknown agent is confined only if the configuration asks for it.
pub(super) fn check(patient: &DoctorTarget<'_>, known: Option<&AgentSpec>) -> Check {
    let check = |state, message: String| Check::new(CheckName::Confinement, state, message);
    let abi = patient.supervisor.landlock();
    let loaded = patient.config.as_ref().ok();
    let chosen = loaded.and_then(|loaded| loaded.config.confine);
    let usual = known.map_or(ConfineMode::Off, AgentSpec::usual_confine_mode);
    let missing = abi.missing(false);
    let is_required = loaded.and_then(|loaded| loaded.config.confinement);
    let is_required = is_required == Some(ConfinementNeed::Required);
    let usual = if is_required {
        ConfineMode::Workspace
    } else {
        usual
    };
    let told = match (chosen, usual) {
        (Some(mode), _) => format!("lapidary.toml says `confine = \"{}\"`", mode.as_str()),
        (None, ConfineMode::Off) => "this agent is confined with `--confine` only".to_owned(),
        (None, mode) if is_required => {
            format!(
                "every run is confined to the {}: it is required",
                mode.as_str()
            )
        }
        (None, mode) => format!("unattended runs are confined to the {}", mode.as_str()),
    };
    if chosen.unwrap_or(usual) == ConfineMode::Off || missing.is_empty() {
        return check(CheckState::Ok, format!("{abi}; {told}"))
            .details(state_places(patient, known));
    }
    let message = format!("{told}, but the kernel has {abi}: {}", missing.join(", "));
    let remedy = match abi {
        LandlockAbi::NONE => {
            "use Linux 6.2 or later with `landlock` in /sys/kernel/security/lsm, or set `confine = \"off\"`"
        }
        _ => "use Linux 6.2 or later, or set `confine = \"off\"`",
    };
    check(CheckState::Warning, message).remedy(remedy)
}

/// Where the agent keeps its state, which it can write although confined.
fn state_places(patient: &DoctorTarget<'_>, known: Option<&AgentSpec>) -> Vec<String> {
    let state = known.map_or(&[][..], |known| known.state).iter();
    let state = state.filter_map(|place| place.in_environment(patient.environment));
    let state: Vec<_> = state.map(|path| format!("`{}`", path.display())).collect();
    let told = (!state.is_empty()).then(|| format!("its state: {}", state.join(", ")));
    told.into_iter().collect()
}
