//! The effects of keys, without a terminal and without files.

use super::super::canvas::Canvas;
use super::super::list::ListSnippet;
use super::*;

fn setup() -> BrowserSetup {
    BrowserSetup {
        screen: Rect::new(0, 0, 80, 24),
        marks: MarkSet::Unicode,
        colour: false,
        now: SystemTime::UNIX_EPOCH,
        place: "~/work".to_owned(),
        is_everywhere: false,
    }
}

fn entries() -> Vec<BrowseEntry> {
    vec![
        BrowseEntry::sample_entry(1, "first plan", 5, 100),
        BrowseEntry::sample_entry(2, "second", 9, 300),
        BrowseEntry::sample_entry(3, "third plan", 1, 200),
        BrowseEntry::sample_hidden("torn.jsonl: it is empty"),
    ]
}

fn browsing() -> BrowserState {
    let mut state = BrowserState::new(setup());
    state.take_input(BrowserInput::Listed(entries(), None));
    state
}

fn typed(state: &mut BrowserState, keys: &str) -> Vec<BrowserEffect> {
    let keys = keys.chars().map(BrowseKey::Char);
    keys.flat_map(|key| state.take_input(BrowserInput::Key(key)))
        .collect()
}

fn press(state: &mut BrowserState, key: BrowseKey) -> Vec<BrowserEffect> {
    state.take_input(BrowserInput::Key(key))
}

fn is_browsing(state: &BrowserState) -> bool {
    matches!(state.mode, InputMode::Browsing)
}

#[test]
fn the_preview_follows_the_cursor_and_late_answers_are_of_no_use() {
    let mut state = BrowserState::new(setup());
    let asked = state.take_input(BrowserInput::Listed(entries(), None));
    let newest = entries()[1].path.clone();
    assert_eq!(
        asked,
        [BrowserEffect::Read(1, newest, TranscriptExtent::Preview)]
    );
    let asked = press(&mut state, BrowseKey::Down);
    let next = entries()[2].path.clone();
    assert_eq!(
        asked,
        [BrowserEffect::Read(2, next, TranscriptExtent::Preview)]
    );
    state.take_input(BrowserInput::Read(1, Ok(vec!["late".to_owned()])));
    assert!(matches!(state.preview, PreviewState::Coming(_)));
    state.take_input(BrowserInput::Read(2, Ok(vec!["in time".to_owned()])));
    assert!(matches!(state.preview, PreviewState::Ready(..)));
    assert_eq!(
        press(&mut state, BrowseKey::Ctrl('o')),
        [],
        "it is the same session"
    );
}

#[test]
fn keys_other_than_a_search_only_request_previews_and_none_lists_again() {
    let mut state = browsing();
    let acting = ['o', 't', 'a', 'l', 'e'].map(BrowseKey::Ctrl).into_iter();
    let others = [
        BrowseKey::Tab,
        BrowseKey::PageDown,
        BrowseKey::End,
        BrowseKey::F1,
        BrowseKey::Esc,
    ];
    for key in acting.chain(others) {
        let effects = press(&mut state, key);
        assert!(effects.len() <= 1, "{key:?}: {effects:?}");
        let is_preview = |effect: &BrowserEffect| {
            matches!(effect, BrowserEffect::Read(_, _, TranscriptExtent::Preview))
        };
        assert!(effects.iter().all(is_preview), "{key:?}: {effects:?}");
    }
}

#[test]
fn typing_a_search_filters_at_once_and_asks_for_the_texts() {
    let mut state = browsing();
    let effects = typed(&mut state, "pl");
    let searches: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            BrowserEffect::Search(ticket, words, files) => {
                Some((*ticket, words.clone(), files.len()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(searches, [(1, "p".to_owned(), 4), (2, "pl".to_owned(), 4)]);
    assert_eq!(state.list.len(), 2);
    assert_eq!(state.searched, Some((0, 4)));
    let snippet = ListSnippet {
        before: String::new(),
        matched: "pl".to_owned(),
        after: String::new(),
    };
    let found = |done| FoundSessions {
        places: vec![(1, Some(snippet.clone()))],
        done,
        total: 4,
    };
    state.take_input(BrowserInput::Found(1, found(2)));
    assert_eq!(state.list.len(), 2, "that was for `p`");
    state.take_input(BrowserInput::Found(2, found(2)));
    assert_eq!((state.list.len(), state.searched), (3, Some((2, 4))));
    state.take_input(BrowserInput::Found(2, found(4)));
    assert_eq!(state.searched, None);
    let ended = press(&mut state, BrowseKey::Esc);
    assert!(
        matches!(&ended[..], [BrowserEffect::Search(3, words, _)] if words.is_empty()),
        "{ended:?}"
    );
    assert_eq!(state.list.len(), 3);
    assert_eq!(
        press(&mut state, BrowseKey::Esc),
        [BrowserEffect::Leave(BrowserOutcome::Done)]
    );
}

#[test]
fn ctrl_c_leaves_from_everywhere() {
    let ways: [&[BrowseKey]; 6] = [
        &[],
        &[BrowseKey::Char('x')],
        &[BrowseKey::Enter],
        &[BrowseKey::Enter, BrowseKey::Char('/')],
        &[BrowseKey::F1],
        &[BrowseKey::Delete],
    ];
    for keys in ways {
        let mut state = browsing();
        for key in keys {
            press(&mut state, *key);
        }
        let left = press(&mut state, BrowseKey::Ctrl('c'));
        assert_eq!(
            left,
            [BrowserEffect::Leave(BrowserOutcome::Interrupted)],
            "{keys:?}"
        );
    }
}

#[test]
fn deleting_asks_first_and_the_rest_is_numbered_anew() {
    let mut state = browsing();
    let path = entries()[1].path.clone();
    let plan = BrowserEffect::Plan(path.clone(), 1000);
    assert_eq!(
        press(&mut state, BrowseKey::Delete),
        std::slice::from_ref(&plan)
    );
    assert!(is_browsing(&state), "what goes is not known yet");
    let planned = || BrowserInput::Planned(path.clone(), DeletionPlan::sample_plan());
    state.take_input(planned());
    assert!(
        matches!(&state.mode, InputMode::Asking(FooterQuestion::Delete { title, .. }) if title == "second")
    );
    assert_eq!(press(&mut state, BrowseKey::Enter), [], "only a yes is one");
    assert!(is_browsing(&state));
    assert_eq!(press(&mut state, BrowseKey::Ctrl('x')), [plan]);
    press(&mut state, BrowseKey::Up);
    state.take_input(planned());
    assert!(is_browsing(&state), "somebody has gone on");
    press(&mut state, BrowseKey::Delete);
    state.take_input(planned());
    assert_eq!(typed(&mut state, "yes"), []);
    assert_eq!(
        press(&mut state, BrowseKey::Enter),
        [BrowserEffect::Delete(path.clone())]
    );
    let effects = state.take_input(BrowserInput::Deleted(path, "gone".to_owned()));
    assert_eq!(effects[0], BrowserEffect::List);
    assert_eq!(state.list.len(), 2);
    assert_eq!(state.note.as_deref(), Some("gone"));
    let refused = state.take_input(BrowserInput::Refused("changed".to_owned()));
    assert_eq!(refused, [BrowserEffect::List]);
    assert_eq!(state.note.as_deref(), Some("changed"));
}

#[test]
fn a_deletion_plan_for_another_session_than_the_selected_one_is_dropped() {
    let mut state = browsing();
    press(&mut state, BrowseKey::Delete);
    // It is not where it was: the list was read anew meanwhile.
    state.take_input(BrowserInput::Listed(vec![entries().remove(0)], None));
    let path = entries()[1].path.clone();
    state.take_input(BrowserInput::Planned(path, DeletionPlan::sample_plan()));
    assert!(is_browsing(&state));
}

#[test]
fn every_letter_is_searched_and_none_acts() {
    for letter in ('a'..='z').chain('A'..='Z').chain('0'..='9') {
        let mut state = browsing();
        let effects = typed(&mut state, &letter.to_string());
        assert!(
            matches!(&effects[0], BrowserEffect::Search(_, words, _) if *words == letter.to_string()),
            "{letter}: {effects:?}"
        );
        assert!(is_browsing(&state), "{letter}");
    }
}

#[test]
fn ctrl_z_changes_nothing() {
    let mut state = browsing();
    typed(&mut state, "pl");
    assert_eq!(
        press(&mut state, BrowseKey::Ctrl('z')),
        [BrowserEffect::Suspend]
    );
    assert_eq!(state.list.search_query(), "pl");
}

#[test]
fn the_browser_resumes_the_selected_session_unless_its_file_is_torn() {
    let mut state = browsing();
    let id = entries()[1].id.clone();
    let root = entries()[1].root.clone();
    assert!(root.is_some());
    for prompt in ["go on", ""] {
        assert_eq!(press(&mut state, BrowseKey::Ctrl('r')), []);
        typed(&mut state, prompt);
        let expected = BrowserEffect::Leave(BrowserOutcome::Resume(SessionResumption {
            id: id.clone(),
            root: root.clone(),
            prompt: prompt.to_owned(),
        }));
        assert_eq!(press(&mut state, BrowseKey::Enter), [expected]);
    }
    let keys = [BrowseKey::Ctrl('a'), BrowseKey::End, BrowseKey::Ctrl('r')];
    let effects: Vec<_> = keys
        .into_iter()
        .flat_map(|key| press(&mut state, key))
        .collect();
    let left = effects
        .iter()
        .any(|effect| matches!(effect, BrowserEffect::Leave(_)));
    assert!(!left, "a torn file cannot: {effects:?}");
    assert_eq!(
        state.note.as_deref(),
        Some("there is nothing in it to resume")
    );
}

#[test]
fn a_session_of_another_provider_is_in_the_list_and_says_why_it_is_not_resumed_or_deleted() {
    let mut state = BrowserState::new(setup());
    let other = BrowseEntry::sample_other("recorded", 900);
    let entries = [entries(), vec![other.clone()]].concat();
    let asked = state.take_input(BrowserInput::Listed(entries, None));
    let preview = BrowserEffect::Read(1, other.path.clone(), TranscriptExtent::Preview);
    assert_eq!(asked, [preview], "it is the newest");
    for (key, why) in [
        (BrowseKey::Ctrl('r'), "it is in a recording only: show it"),
        (
            BrowseKey::Delete,
            "it is in a recording only: delete the run",
        ),
    ] {
        assert_eq!(press(&mut state, key), []);
        assert!(is_browsing(&state));
        assert_eq!(state.note.as_deref(), Some(why));
    }
    press(&mut state, BrowseKey::Ctrl('e'));
    assert!(matches!(
        state.mode,
        InputMode::Asking(FooterQuestion::Export { .. })
    ));
}

#[test]
fn the_browser_does_not_resume_a_session_whose_project_is_unknown() {
    let mut entries = entries();
    entries[1].root = None;
    let mut state = BrowserState::new(setup());
    state.take_input(BrowserInput::Listed(entries, None));
    assert_eq!(press(&mut state, BrowseKey::Ctrl('r')), []);
    assert!(is_browsing(&state));
    let note = state.note.unwrap();
    assert!(note.starts_with("nothing says where its project is"));
}

#[test]
fn a_transcript_is_opened_searched_and_closed() {
    let mut state = browsing();
    let effects = press(&mut state, BrowseKey::Enter);
    let path = entries()[1].path.clone();
    assert_eq!(
        effects,
        [BrowserEffect::Read(2, path, TranscriptExtent::Whole)]
    );
    let lines = (0..100).map(|number| format!("line {number}")).collect();
    state.take_input(BrowserInput::Read(2, Ok(lines)));
    let first = |state: &BrowserState| match &state.mode {
        InputMode::Open(open) => open
            .document
            .as_ref()
            .unwrap()
            .page_rows(1)
            .next()
            .unwrap()
            .to_owned(),
        other => panic!("{other:?}"),
    };
    typed(&mut state, "/7");
    press(&mut state, BrowseKey::Enter);
    assert_eq!(first(&state), "line 7");
    typed(&mut state, "n");
    assert_eq!(first(&state), "line 17");
    typed(&mut state, "NN");
    assert_eq!(first(&state), "line 78", "line 97 is on the last page");
    state.take_input(BrowserInput::Resize(Rect::new(0, 0, 40, 10)));
    typed(&mut state, "g");
    assert_eq!(first(&state), "line 0");
    let effects = typed(&mut state, "q");
    assert!(is_browsing(&state));
    assert_eq!(effects, [], "there is no room for a preview in ten rows");
}

#[test]
fn pasted_text_is_a_search_and_never_a_command() {
    let mut state = browsing();
    state.take_input(BrowserInput::Paste("plan\nq".to_owned()));
    assert_eq!(state.list.search_query(), "plan");
    assert_eq!(state.list.len(), 2);
}

#[test]
fn a_search_typed_before_the_list_is_there_counts() {
    let mut state = BrowserState::new(setup());
    state.take_input(BrowserInput::Counted(0, 3));
    typed(&mut state, "plan");
    let effects = state.take_input(BrowserInput::Listed(entries(), Some("odd".to_owned())));
    assert!(matches!(&effects[0], BrowserEffect::Search(_, _, files) if files.len() == 4));
    assert_eq!(state.list.len(), 2);
    assert_eq!(state.note.as_deref(), Some("odd"));
}

proptest::proptest! {
    #[test]
    fn no_sequence_of_keys_and_sizes_panics(keys in proptest::collection::vec((0u8..20, 1u16..130, 1u16..40), 0..60)) {
        let mut state = browsing();
        for (key, width, height) in keys {
            let letters = b"pl?/yesnN q\"";
            let input = match key {
                0..12 => BrowserInput::Key(BrowseKey::Char(char::from(letters[usize::from(key)]))),
                12 => BrowserInput::Key(BrowseKey::Delete),
                13 => BrowserInput::Key(BrowseKey::Ctrl('r')),
                14 => BrowserInput::Key(BrowseKey::Ctrl('e')),
                15 => BrowserInput::Key(BrowseKey::Ctrl(char::from(b"ota"[usize::from(width % 3)]))),
                16 => BrowserInput::Key(BrowseKey::Enter),
                17 => BrowserInput::Key(BrowseKey::Esc),
                18 if width % 2 == 0 => match &state.planning {
                    Some(path) => BrowserInput::Planned(path.clone(), DeletionPlan::sample_plan()),
                    None => continue,
                },
                18 => BrowserInput::Read(state.ticket, Ok(vec!["x y".repeat(50)])),
                _ => BrowserInput::Resize(Rect::new(0, 0, width, height)),
            };
            state.take_input(input);
            let mut buffer = Canvas::new(state.setup.screen);
            crate::commands::sessions::browse::view::draw_state(&state, &mut buffer);
        }
    }
}
