//! Answering an agent that offers options.

use lapidary_json::Token;
use lapidary_vocab::{Json, Text};

use super::PermissionEffect;

/// The option that expresses a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionChoice {
    /// Its id, as the agent spelt it.
    pub option_id: Text,
    /// A note for the reader of the decision: the option covers more than was decided.
    pub note: Option<&'static str>,
}

/// Picks the option of an ACP permission request that expresses `effect`, by its kind and never by its place: the first one is
/// `allow_always` more often than not. Of two of a kind the first is taken.
///
/// `allow_always` is never picked: the agent decides which calls it covers, and does not ask again. `reject_always` is picked
/// only if there is no `reject_once`, and with a note. None if the agent offers no such option, and for
/// [`PermissionEffect::Ask`]. A caller that gets none for a refusal answers with an error, which is the only answer left, and
/// cancels the turn: an agent that offers no way to refuse may go on otherwise.
pub fn choose(options: &Json, effect: PermissionEffect) -> Option<OptionChoice> {
    let picked = |kind, note| {
        let mut options = options.token().elements();
        let option_id = options.find_map(|option| option_id(option, kind))?;
        Some(OptionChoice { option_id, note })
    };
    match effect {
        PermissionEffect::Allow => picked("allow_once", None),
        PermissionEffect::Deny => picked("reject_once", None).or_else(|| {
            let note = "the agent offers no other way to refuse, and will not ask again";
            picked("reject_always", Some(note))
        }),
        PermissionEffect::Ask => None,
    }
}

/// The option that also allows later calls of the agent's choice, if the agent offers no narrower one. Only a person may choose
/// it, after being told so.
pub fn only_always(options: &Json) -> Option<Text> {
    let find = |kind| {
        let mut options = options.token().elements();
        options.find_map(|option| option_id(option, kind))
    };
    match find("allow_once") {
        Some(_) => None,
        None => find("allow_always"),
    }
}

/// The option's id if it is of this kind.
fn option_id(option: Token<'_>, kind: &str) -> Option<Text> {
    option.get("kind").filter(|found| found.is(kind))?;
    let id = option.get("optionId")?;
    id.string()?;
    Some(Text::from_token(lapidary_json::SharedToken::from(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(kinds: &[&str]) -> Json {
        let option = |(at, kind): (usize, &&str)| {
            let id = format!("{kind}-{at}");
            serde_json::json!({"optionId": id, "name": "x", "kind": kind})
        };
        Json::from_value(&kinds.iter().enumerate().map(option).collect::<Vec<_>>())
    }

    #[track_caller]
    fn check(kinds: &[&str], effect: PermissionEffect, expected: Option<(&str, bool)>) {
        let chosen = choose(&options(kinds), effect);
        let chosen = chosen.map(|choice| (choice.option_id.to_string(), choice.note.is_some()));
        let expected = expected.map(|(id, noted)| (id.to_owned(), noted));
        assert_eq!(chosen, expected, "{kinds:?}");
    }

    #[test]
    fn options_are_chosen_by_kind() {
        let gemini = ["allow_always", "allow_once", "reject_once"];
        check(
            &gemini,
            PermissionEffect::Allow,
            Some(("allow_once-1", false)),
        );
        check(
            &gemini,
            PermissionEffect::Deny,
            Some(("reject_once-2", false)),
        );
        check(&gemini, PermissionEffect::Ask, None);
        let qwen = ["allow_once", "allow_once", "reject_once"];
        check(
            &qwen,
            PermissionEffect::Allow,
            Some(("allow_once-0", false)),
        );
        check(
            &["allow_always", "reject_once"],
            PermissionEffect::Allow,
            None,
        );
        let only = |kinds| only_always(&options(kinds)).map(|id| id.to_string());
        assert_eq!(
            only(&["reject_once", "allow_always"]).as_deref(),
            Some("allow_always-1")
        );
        assert_eq!(only(&["allow_always", "allow_once"]), None);
        assert_eq!(only(&["allow_for_a_while"]), None);
        check(
            &["reject_always", "allow_once"],
            PermissionEffect::Deny,
            Some(("reject_always-0", true)),
        );
        check(&["allow_once"], PermissionEffect::Deny, None);
        check(
            &["allow_for_a_while", "reject_once"],
            PermissionEffect::Allow,
            None,
        );
        check(&[], PermissionEffect::Deny, None);
    }

    #[test]
    fn options_that_are_none_are_not_chosen() {
        for options in [
            r#"{"kind":"allow_once","optionId":"x"}"#,
            r#"[{"kind":"allow_once"}]"#,
            r#"[{"kind":"allow_once","optionId":5}]"#,
            r#"["allow_once",null,[]]"#,
            "null",
        ] {
            let options: Json = serde_json::from_str(options).unwrap();
            assert_eq!(choose(&options, PermissionEffect::Allow), None);
        }
    }
}
