//! A remote agent: its address and the limits of what holds there. It is not connected.

use lapidary_vocab::doctor::{Check, CheckName, CheckState};

use super::{DoctorTarget, state, surroundings};
use crate::headless::RemoteAgent;

/// Looks at the settings for a remote agent without connecting to it.
pub fn examine_remote(
    patient: &DoctorTarget<'_>,
    agent: &RemoteAgent,
    mut tell: impl FnMut(Check),
) {
    tell(address_check(agent));
    surroundings::config_checks(patient)
        .into_iter()
        .for_each(&mut tell);
    tell(state::writable_check(patient.state_directory));
    let message = "commands that the agent runs here through Lapidary can be confined; its own machine is not ours to confine";
    tell(Check::new(CheckName::Confinement, CheckState::Ok, message));
}

fn address_check(agent: &RemoteAgent) -> Check {
    let transport = if agent.url.is_websocket() {
        "WebSocket"
    } else {
        "streamable HTTP"
    };
    let message = format!(
        "`{}` at `{}`, over {transport} (`--prove` connects to it)",
        agent.name,
        agent.url.shown()
    );
    let check = |state| Check::new(CheckName::Agent, state, message.as_str());
    if agent.url.is_protected() {
        return check(CheckState::Ok);
    }
    let remedy = "the connection is not encrypted: use wss:// or https://";
    check(CheckState::Warning).remedy(remedy)
}
