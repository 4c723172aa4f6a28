//! Agents that do not start.

use super::peer::Peer;
use crate::run::world::World;

#[test]
fn an_agent_that_does_not_start_ends_connect() {
    let world = World::with_agent("exit 1");
    let mut peer = Peer::of(world, "", &[]);
    peer.close();
    assert_eq!(peer.end().cause(), ("agent_missing", Some(10)));
}
