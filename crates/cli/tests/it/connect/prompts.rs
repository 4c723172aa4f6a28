//! Prompts: one after the other in a session, and at the same time in several.

use super::peer::Peer;

/// As `run` has it: over ACP the CLI takes `@path` for plain text.
#[test]
fn a_file_that_a_prompt_names_is_a_link_for_gemini_and_text_for_others() {
    for (name, links) in [("gemini", 1), ("agent", 0)] {
        let mut peer = Peer::called(name, "", &[]);
        std::fs::write(peer.world.path("project/a.txt"), "x").unwrap();
        let id = peer.prompt("say @a.txt and @missing");
        peer.done(&id);
        let over = peer.finish();
        let is_input = |event: &&serde_json::Value| event["event"] == "user_input";
        let input = over.events.iter().find(is_input).unwrap();
        let blocks = input["raw"]["params"]["prompt"].as_array().unwrap();
        let linked = blocks.iter().filter(|it| it["uri"] == "file://a.txt");
        assert_eq!(linked.count(), links, "{name}: {blocks:?}");
        let last = blocks.last().unwrap()["text"].as_str().unwrap();
        assert!(last.ends_with(" and @missing"), "{last}");
    }
}
