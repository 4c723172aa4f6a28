//! The hand-written serialisation: the same bytes as serde's, with every combination of fields.

use lapidary_vocab::event::{
    Provider, StreamDelta, StreamDeltaKind, ToolCallStatus, ToolCompletion, ToolInvocation,
    ToolKind,
};
use lapidary_vocab::line::SessionRow;
use lapidary_vocab::session::{
    HiddenFile, HiddenReason, LIST_SCHEMA, SessionInfo, SessionList, UnlistedPlace,
};
use lapidary_vocab::{Base, Body, Event, Json, RuntimeEvent, SharedToken, Text, line};
use proptest::prelude::*;

use crate::samples;

#[track_caller]
fn check(event: &Event) {
    let mut fast = Vec::new();
    line::push_event(&mut fast, event);
    let mut plain = Vec::new();
    line::write(&mut plain, event).unwrap();
    assert_eq!(String::from_utf8(fast), String::from_utf8(plain));
}

#[test]
fn every_sample_is_written_as_serde_writes_it() {
    for event in samples::events() {
        check(&event);
    }
}

fn text() -> impl Strategy<Value = Text> {
    let token = any::<String>().prop_map(|text| {
        let quoted = serde_json::to_string(&text).expect("strings serialise");
        Text::from_token(SharedToken::parse(&quoted).expect("a string is JSON"))
    });
    prop_oneof![
        token,
        any::<String>().prop_map(Text::from),
        Just(Text::from("a \"static\"\n")),
        Just(Text::from_token(
            SharedToken::parse(r#""\ud83d""#).expect("a lone surrogate is JSON")
        ))
    ]
}

fn delta() -> impl Strategy<Value = StreamDelta> {
    let kind = prop_oneof![
        Just(StreamDeltaKind::Text),
        any::<String>().prop_map(StreamDeltaKind::Other)
    ];
    let maybe = || prop::option::weighted(0.2, text());
    (kind, prop::option::of(text()), maybe(), maybe(), maybe()).prop_map(
        |(kind, text_delta, json_delta, call_id, parent_call_id)| StreamDelta {
            kind,
            text_delta,
            json_delta,
            block_index: None,
            call_id,
            parent_call_id,
        },
    )
}

fn call() -> impl Strategy<Value = ToolInvocation> {
    let kind = prop_oneof![
        Just(ToolKind::Read),
        any::<String>().prop_map(ToolKind::Other)
    ];
    let maybe = || prop::option::of(text());
    let ids = (text(), text(), maybe(), maybe(), maybe());
    (ids, kind, prop::collection::vec(text(), 0..3)).prop_map(
        |((call_id, tool_name, parent_call_id, title, model), kind, locations)| ToolInvocation {
            call_id,
            tool_name,
            kind,
            input: Json::object([("path", Json::from_value(&"a\n"))]),
            parent_call_id,
            title,
            locations,
            model,
        },
    )
}

fn completion() -> impl Strategy<Value = ToolCompletion> {
    let status = prop_oneof![
        Just(ToolCallStatus::Completed),
        any::<String>().prop_map(ToolCallStatus::Other)
    ];
    let maybe = || prop::option::of(text());
    let said = (maybe(), maybe(), maybe(), maybe());
    let content = Just(samples::content_blocks());
    let content = prop::option::weighted(0.2, content).prop_map(Option::unwrap_or_default);
    let locations = prop::collection::vec(text(), 0..3);
    (text(), status, said, any::<bool>(), content, locations).prop_map(
        |(call_id, status, said, is_error, content, locations)| ToolCompletion {
            parent_call_id: is_error.then(|| call_id.clone()),
            call_id,
            status,
            output: said.0.as_ref().map(Json::from),
            is_error,
            content,
            locations,
            command: said.1,
            command_output: said.2,
            mutation: said.3,
        },
    )
}

fn base() -> impl Strategy<Value = Base> {
    let provider = prop_oneof![
        Just(Provider::Gemini),
        any::<String>().prop_map(Provider::Other)
    ];
    let json = || Just(Json::from_value(&[1, 2]));
    let map = || prop::collection::btree_map(any::<String>(), json(), 0..2);
    let rare = || prop::option::weighted(0.2, text());
    let first = (
        rare(),
        any::<String>(),
        any::<u64>(),
        prop::option::of(text()),
        provider,
    );
    let rest = (
        prop::option::of(text()),
        map(),
        any::<bool>(),
        prop::option::of(json()),
        map(),
    );
    (first, rest).prop_map(
        |(
            (schema, id, seq, timestamp, provider),
            (session_id, extensions, raw_is_text, raw, other),
        )| Base {
            schema,
            id,
            seq,
            timestamp,
            provider,
            session_id,
            extensions,
            raw_is_text,
            raw_base64: raw_is_text.then(|| "gA==".to_owned()),
            raw,
            other,
        },
    )
}

proptest! {
    #[test]
    fn any_chunk_is_written_as_serde_writes_it(delta in delta(), base in base()) {
        check(&Event { body: Body::StreamDelta(delta), base });
    }

    #[test]
    fn any_call_is_written_as_serde_writes_it(call in call(), base in base()) {
        check(&Event { body: Body::ToolInvocation(Box::new(call)), base });
    }

    #[test]
    fn any_completion_is_written_as_serde_writes_it(completion in completion(), base in base()) {
        check(&Event { body: Body::ToolCompletion(Box::new(completion)), base });
    }
}

#[test]
fn an_event_of_a_newer_version_is_written_whole_by_serde_too() {
    let line = r#"{"event":"invented_later","id":"r-1","seq":1,"provider":"gemini","x":1e400}"#;
    let event = Event::from_json(line).unwrap();
    check(&event);
    assert_eq!(serde_json::to_string(&event).unwrap(), line);
    let line = r#"{"event":"invented_later","seq":1,"provider":"gemini","turnId":"t","x":1e400}"#;
    let event = RuntimeEvent::from_json(line).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), line);
}

fn session() -> impl Strategy<Value = SessionInfo> {
    let text = any::<String>;
    let texts = (text(), text(), text(), text(), text(), text());
    let named = (text(), text(), text());
    let odd = (
        proptest::option::of(text()),
        proptest::option::of(text()),
        proptest::option::of(text()),
        proptest::option::of(prop_oneof![
            Just("vault"),
            Just("older_directory"),
            Just("recording"),
            Just("x\"y")
        ]),
    );
    let counts = (
        any::<u64>(),
        any::<u64>(),
        any::<u64>(),
        any::<u64>(),
        any::<bool>(),
    );
    let alike = (any::<bool>(), any::<bool>(), any::<bool>());
    let info = (texts, named, odd, counts).prop_map(|(texts, named, odd, counts)| SessionInfo {
        id: texts.0,
        provider: Provider::from(texts.1.as_str()),
        run: odd.2.clone(),
        file: texts.1,
        file_name: texts.2,
        path: texts.3,
        start_time: texts.4,
        last_updated: texts.5,
        display_name: named.0,
        first_user_message: named.1,
        project_id: named.2,
        summary: odd.0,
        project: odd.1,
        endangered_by: odd.2,
        unlisted: odd.3.map(UnlistedPlace::from),
        message_count: counts.0,
        user_message_count: counts.1,
        index: counts.2,
        size: counts.3,
        is_current_session: counts.4,
    });
    (info, alike).prop_map(|(mut info, (is_named, is_titled, is_placed))| {
        if is_named {
            info.file_name = format!("{}.jsonl", info.file);
            info.path = format!("/chats/{}", info.file_name);
        }
        if is_titled {
            info.first_user_message.clone_from(&info.display_name);
        }
        if is_placed {
            info.project = Some("/\"work\"".to_owned());
            "work".clone_into(&mut info.project_id);
        }
        info
    })
}

proptest! {
    #[test]
    fn any_list_of_sessions_is_written_as_serde_writes_it(
        sessions in proptest::collection::vec(session(), 0..4),
        warnings in proptest::collection::vec(any::<String>(), 0..2),
        is_hidden in any::<bool>(),
    ) {
        let hidden = HiddenFile {
            path: "/a\n".to_owned(),
            project_id: "p".to_owned(),
            reason: HiddenReason::Empty,
            explanation: "it is empty".to_owned(),
            session_id: None,
            size: 0,
        };
        let list = SessionList {
            schema: LIST_SCHEMA.to_owned(),
            sessions: sessions.clone(),
            hidden_count: 1,
            hidden: is_hidden.then_some(hidden).into_iter().collect(),
            agents: is_hidden.then(counted_files).into_iter().collect(),
            warnings,
        };
        let (mut ours, mut serdes) = (Vec::new(), Vec::new());
        let rows = sessions.iter().map(SessionRow::from);
        line::write_sessions(&mut ours, &list, rows).unwrap();
        line::write(&mut serdes, &list).unwrap();
        prop_assert_eq!(String::from_utf8(ours).unwrap(), String::from_utf8(serdes).unwrap());
        let again: Vec<_> = sessions.iter().map(|info| SessionRow::from(info).into_info()).collect();
        prop_assert_eq!(again, sessions);
    }
}

fn counted_files() -> lapidary_vocab::session::AgentFileCounts {
    lapidary_vocab::session::AgentFileCounts {
        provider: "claude".to_owned(),
        read: 2,
        skipped: 1,
        reasons: [("empty".to_owned(), 1)].into(),
    }
}
