//! Text, numbers and JSON values that pass through.

use std::collections::{BTreeSet, HashSet};

use lapidary_vocab::{Json, Number, SharedToken, Text};

fn shared(text: &str) -> SharedToken {
    SharedToken::parse(text).unwrap()
}

#[test]
fn a_text_is_blank_if_it_holds_white_space_only_escaped_or_not() {
    let token = |text: &str| Text::from_token(SharedToken::parse(text).unwrap());
    for blank in [r#""""#, r#"" ""#, r#""\n\u0020 ""#] {
        assert!(token(blank).is_blank(), "{blank}");
    }
    for said in [r#""a""#, r#"" \"""#, r#""\n\u0061""#, r#""\\""#] {
        assert!(!token(said).is_blank(), "{said}");
    }
    assert!(Text::from(" \n").is_blank() && Text::default().is_blank());
    assert!(!Text::from("\"").is_blank() && !Text::from(" \\").is_blank());
}

#[test]
fn a_token_is_written_as_it_stands() {
    let token = shared(r#""caf\u00e9 \ud83d \/""#);
    let text = Text::from_token(token.clone());
    assert_eq!(serde_json::to_string(&text).unwrap(), token.as_str());
    assert_eq!(text.to_str(), "café \u{FFFD} /");
    let number = Json::from(shared("9007199254740993.10"));
    assert_eq!(
        serde_json::to_string(&[number]).unwrap(),
        "[9007199254740993.10]"
    );
}

#[test]
fn texts_join_without_being_decoded() {
    let halves = [r#""a\ud83d""#, r#""\ude00b""#].map(|half| Text::from_token(shared(half)));
    assert_eq!(
        serde_json::to_string(&Text::concat(&halves)).unwrap(),
        r#""a\ud83d\ude00b""#
    );
    assert_eq!(Text::concat(&halves).to_str(), "a😀b");
    let mixed = Text::concat(&[
        Text::from("say \"hi\"\n"),
        Text::from_token(shared(r#""\u0041""#)),
    ]);
    assert_eq!(mixed.to_str(), "say \"hi\"\nA");
    assert!(Text::concat(&[]).is_empty());
}

#[test]
fn texts_compare_with_words_and_are_keys_of_sets_however_they_are_spelled() {
    let spelled = |text: &str| Text::from_token(shared(text));
    assert!(spelled(r#""\u0061""#) == "a" && spelled(r#""a""#) != "b");
    let texts = [r#""b""#, r#""\u0061""#, r#""a""#].map(spelled);
    let sorted: BTreeSet<_> = texts.iter().cloned().collect();
    assert_eq!(sorted.iter().collect::<Vec<_>>(), ["a", "b"]);
    let unsorted: HashSet<_> = texts.into_iter().collect();
    assert_eq!(unsorted.len(), 2);
}

#[test]
fn objects_and_arrays_are_built_from_values() {
    let object = Json::object([
        ("a \"b\"", Json::from_value(&1)),
        (
            "c",
            Json::array([Json::empty_object(), Json::from_value(&"x")]),
        ),
    ]);
    assert_eq!(object.as_str(), r#"{"a \"b\"":1,"c":[{},"x"]}"#);
}

#[test]
fn numbers_keep_their_digits() {
    let number: Number = serde_json::from_str("9007199254740993").unwrap();
    assert_eq!(number.u64(), Some(9_007_199_254_740_993));
    assert_eq!(serde_json::to_string(&number).unwrap(), "9007199254740993");
    assert!(serde_json::from_str::<Number>("\"1\"").is_err());
}
