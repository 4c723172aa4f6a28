//! No terminals: only Unix has what they are made of.

use lapidary_vocab::Json;

use super::launch::Launch;
use super::params::Which;
use crate::acp::Refusal;
use crate::process::Supervisor;

#[derive(Debug)]
pub(super) struct Terminals;

#[expect(
    clippy::unused_self,
    clippy::unused_async,
    reason = "elsewhere there are terminals"
)]
impl Terminals {
    pub(super) fn new(_: Supervisor, _: usize) -> Self {
        Self
    }

    pub(super) async fn create(&self, _: Launch) -> Result<Json, Refusal> {
        Err(none())
    }

    pub(super) fn output(&self, _: &Which) -> Result<Json, Refusal> {
        Err(none())
    }

    pub(super) async fn wait(&self, _: &Which) -> Result<Json, Refusal> {
        Err(none())
    }

    pub(super) async fn kill(&self, _: &Which) -> Result<Json, Refusal> {
        Err(none())
    }

    pub(super) async fn release(&self, _: &Which) -> Result<Json, Refusal> {
        Err(none())
    }

    pub(super) async fn close_session(&self, _: &str) {}

    pub(super) async fn close(&self) {}
}

fn none() -> Refusal {
    Refusal::new(Refusal::NO_METHOD, "there are no terminals on this system")
}
