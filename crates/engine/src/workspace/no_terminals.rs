//! No terminals: they need system calls that only Unix has.

use lapidary_vocab::Json;

use super::launch::TerminalLaunch;
use super::params::TerminalId;
use crate::acp::RpcError;
use crate::process::Supervisor;

#[derive(Debug)]
pub(super) struct NoTerminals;

#[expect(
    clippy::unused_self,
    clippy::unused_async,
    reason = "elsewhere there are terminals"
)]
impl NoTerminals {
    pub(super) fn new(_: Supervisor, _: usize) -> Self {
        Self
    }

    pub(super) async fn create_terminal(&self, _: TerminalLaunch) -> Result<Json, RpcError> {
        Err(no_terminals_error())
    }

    pub(super) fn terminal_output(&self, _: &TerminalId) -> Result<Json, RpcError> {
        Err(no_terminals_error())
    }

    pub(super) async fn wait_for_exit(&self, _: &TerminalId) -> Result<Json, RpcError> {
        Err(no_terminals_error())
    }

    pub(super) async fn kill_process(&self, _: &TerminalId) -> Result<Json, RpcError> {
        Err(no_terminals_error())
    }

    pub(super) async fn release_terminal(&self, _: &TerminalId) -> Result<Json, RpcError> {
        Err(no_terminals_error())
    }

    pub(super) async fn close_session(&self, _: &str) {}

    pub(super) async fn close_all(&self) {}
}

fn no_terminals_error() -> RpcError {
    RpcError::new(RpcError::NO_METHOD, "there are no terminals on this system")
}
