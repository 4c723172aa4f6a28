//! Forms that the agent wants the user to fill in.

use super::peer::Peer;
use lapidary_testkit::patience::with_enough_time;

/// The agent is late because its user is: that is no model's fault.
#[test]
fn a_timeout_during_an_open_form_names_the_elicitation() {
    with_enough_time(1.0, |seconds| {
        let timeout = seconds.to_string();
        let mut peer = Peer::with("", &["--timeout", &timeout, "--grace", "0.2"]);
        let turn = peer.prompt("form branch; say done");
        peer.done(&turn);
        let ended = peer.end();
        assert_eq!(ended.cause(), ("timeout_total", Some(14)));
        let message = ended.events.last().unwrap()["message"].clone();
        let message = message.as_str().unwrap();
        message
            .ends_with("waiting for our answer to `elicitation/create`")
            .then_some(())
    });
}
