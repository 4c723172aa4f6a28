//! What keys do, without a terminal and without files.

use super::super::canvas::Canvas;
use super::super::list::Snippet;
use super::*;

fn setup() -> Setup {
    Setup {
        screen: Rect::new(0, 0, 80, 24),
        marks: MarkSet::Unicode,
        colour: false,
        now: SystemTime::UNIX_EPOCH,
        place: "~/work".to_owned(),
        is_everywhere: false,
    }
}

fn entries() -> Vec<Entry> {
    vec![
        Entry::sample(1, "first plan", 5, 100),
        Entry::sample(2, "second", 9, 300),
        Entry::sample(3, "third plan", 1, 200),
        Entry::sample_hidden("torn.jsonl: it is empty"),
    ]
}

fn browsing() -> State {
    let mut state = State::new(setup());
    state.update(Input::Listed(entries(), None));
    state
}

fn typed(state: &mut State, keys: &str) -> Vec<Effect> {
    let keys = keys.chars().map(Key::Char);
    keys.flat_map(|key| state.update(Input::Key(key))).collect()
}

fn press(state: &mut State, key: Key) -> Vec<Effect> {
    state.update(Input::Key(key))
}

fn is_browsing(state: &State) -> bool {
    matches!(state.mode, Mode::Browsing)
}

#[test]
fn the_preview_follows_the_cursor_and_late_answers_are_of_no_use() {
    let mut state = State::new(setup());
    let asked = state.update(Input::Listed(entries(), None));
    let newest = entries()[1].path.clone();
    assert_eq!(asked, [Effect::Read(1, newest, Extent::Preview)]);
    let asked = press(&mut state, Key::Down);
    let next = entries()[2].path.clone();
    assert_eq!(asked, [Effect::Read(2, next, Extent::Preview)]);
    state.update(Input::Read(1, Ok(vec!["late".to_owned()])));
    assert!(matches!(state.preview, Preview::Coming(_)));
    state.update(Input::Read(2, Ok(vec!["in time".to_owned()])));
    assert!(matches!(state.preview, Preview::Ready(..)));
    assert_eq!(
        press(&mut state, Key::Ctrl('o')),
        [],
        "it is the same session"
    );
}

#[test]
fn no_key_but_a_search_asks_for_more_than_a_preview_and_none_lists_anew() {
    let mut state = browsing();
    let acting = ['o', 't', 'a', 'l', 'e'].map(Key::Ctrl).into_iter();
    let others = [Key::Tab, Key::PageDown, Key::End, Key::F1, Key::Esc];
    for key in acting.chain(others) {
        let effects = press(&mut state, key);
        assert!(effects.len() <= 1, "{key:?}: {effects:?}");
        let is_preview = |effect: &Effect| matches!(effect, Effect::Read(_, _, Extent::Preview));
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
            Effect::Search(ticket, words, files) => Some((*ticket, words.clone(), files.len())),
            _ => None,
        })
        .collect();
    assert_eq!(searches, [(1, "p".to_owned(), 4), (2, "pl".to_owned(), 4)]);
    assert_eq!(state.list.len(), 2);
    assert_eq!(state.searched, Some((0, 4)));
    let snippet = Snippet {
        before: String::new(),
        matched: "pl".to_owned(),
        after: String::new(),
    };
    let found = |done| Found {
        places: vec![(1, Some(snippet.clone()))],
        done,
        total: 4,
    };
    state.update(Input::Found(1, found(2)));
    assert_eq!(state.list.len(), 2, "that was for `p`");
    state.update(Input::Found(2, found(2)));
    assert_eq!((state.list.len(), state.searched), (3, Some((2, 4))));
    state.update(Input::Found(2, found(4)));
    assert_eq!(state.searched, None);
    let ended = press(&mut state, Key::Esc);
    assert!(
        matches!(&ended[..], [Effect::Search(3, words, _)] if words.is_empty()),
        "{ended:?}"
    );
    assert_eq!(state.list.len(), 3);
    assert_eq!(press(&mut state, Key::Esc), [Effect::Leave(Outcome::Done)]);
}

#[test]
fn ctrl_c_leaves_from_everywhere() {
    let ways: [&[Key]; 6] = [
        &[],
        &[Key::Char('x')],
        &[Key::Enter],
        &[Key::Enter, Key::Char('/')],
        &[Key::F1],
        &[Key::Delete],
    ];
    for keys in ways {
        let mut state = browsing();
        for key in keys {
            press(&mut state, *key);
        }
        let left = press(&mut state, Key::Ctrl('c'));
        assert_eq!(left, [Effect::Leave(Outcome::Interrupted)], "{keys:?}");
    }
}

#[test]
fn deleting_asks_first_and_the_rest_is_numbered_anew() {
    let mut state = browsing();
    let path = entries()[1].path.clone();
    let plan = Effect::Plan(path.clone(), 1000);
    assert_eq!(press(&mut state, Key::Delete), std::slice::from_ref(&plan));
    assert!(is_browsing(&state), "what goes is not known yet");
    let planned = || Input::Planned(path.clone(), Plan::sample());
    state.update(planned());
    assert!(
        matches!(&state.mode, Mode::Asking(Question::Delete { title, .. }) if title == "second")
    );
    assert_eq!(press(&mut state, Key::Enter), [], "only a yes is one");
    assert!(is_browsing(&state));
    assert_eq!(press(&mut state, Key::Ctrl('x')), [plan]);
    press(&mut state, Key::Up);
    state.update(planned());
    assert!(is_browsing(&state), "somebody has gone on");
    press(&mut state, Key::Delete);
    state.update(planned());
    assert_eq!(typed(&mut state, "yes"), []);
    assert_eq!(
        press(&mut state, Key::Enter),
        [Effect::Delete(path.clone())]
    );
    let effects = state.update(Input::Deleted(path, "gone".to_owned()));
    assert_eq!(effects[0], Effect::List);
    assert_eq!(state.list.len(), 2);
    assert_eq!(state.note.as_deref(), Some("gone"));
    let refused = state.update(Input::Refused("changed".to_owned()));
    assert_eq!(refused, [Effect::List]);
    assert_eq!(state.note.as_deref(), Some("changed"));
}

#[test]
fn what_else_goes_is_asked_only_about_what_is_under_the_cursor() {
    let mut state = browsing();
    press(&mut state, Key::Delete);
    // It is not where it was: the list was read anew meanwhile.
    state.update(Input::Listed(vec![entries().remove(0)], None));
    let path = entries()[1].path.clone();
    state.update(Input::Planned(path, Plan::sample()));
    assert!(is_browsing(&state));
}

#[test]
fn every_letter_is_searched_and_none_acts() {
    for letter in ('a'..='z').chain('A'..='Z').chain('0'..='9') {
        let mut state = browsing();
        let effects = typed(&mut state, &letter.to_string());
        assert!(
            matches!(&effects[0], Effect::Search(_, words, _) if *words == letter.to_string()),
            "{letter}: {effects:?}"
        );
        assert!(is_browsing(&state), "{letter}");
    }
}

#[test]
fn ctrl_z_changes_nothing() {
    let mut state = browsing();
    typed(&mut state, "pl");
    assert_eq!(press(&mut state, Key::Ctrl('z')), [Effect::Suspend]);
    assert_eq!(state.list.query(), "pl");
}

#[test]
fn what_is_resumed_is_what_is_under_the_cursor_if_it_can_be() {
    let mut state = browsing();
    let id = entries()[1].id.clone();
    let root = entries()[1].root.clone();
    assert!(root.is_some());
    for prompt in ["go on", ""] {
        assert_eq!(press(&mut state, Key::Ctrl('r')), []);
        typed(&mut state, prompt);
        let expected = Effect::Leave(Outcome::Resume(Resumption {
            id: id.clone(),
            root: root.clone(),
            prompt: prompt.to_owned(),
        }));
        assert_eq!(press(&mut state, Key::Enter), [expected]);
    }
    let keys = [Key::Ctrl('a'), Key::End, Key::Ctrl('r')];
    let effects: Vec<_> = keys
        .into_iter()
        .flat_map(|key| press(&mut state, key))
        .collect();
    let left = effects
        .iter()
        .any(|effect| matches!(effect, Effect::Leave(_)));
    assert!(!left, "a torn file cannot: {effects:?}");
    assert_eq!(
        state.note.as_deref(),
        Some("there is nothing in it to resume")
    );
}

#[test]
fn a_session_whose_project_is_unknown_is_not_resumed_somewhere_else() {
    let mut entries = entries();
    entries[1].root = None;
    let mut state = State::new(setup());
    state.update(Input::Listed(entries, None));
    assert_eq!(press(&mut state, Key::Ctrl('r')), []);
    assert!(is_browsing(&state));
    let note = state.note.unwrap();
    assert!(note.starts_with("nothing says where its project is"));
}

#[test]
fn a_transcript_is_opened_searched_and_closed() {
    let mut state = browsing();
    let effects = press(&mut state, Key::Enter);
    let path = entries()[1].path.clone();
    assert_eq!(effects, [Effect::Read(2, path, Extent::Whole)]);
    let lines = (0..100).map(|number| format!("line {number}")).collect();
    state.update(Input::Read(2, Ok(lines)));
    let first = |state: &State| match &state.mode {
        Mode::Open(open) => open
            .document
            .as_ref()
            .unwrap()
            .page(1)
            .next()
            .unwrap()
            .to_owned(),
        other => panic!("{other:?}"),
    };
    typed(&mut state, "/7");
    press(&mut state, Key::Enter);
    assert_eq!(first(&state), "line 7");
    typed(&mut state, "n");
    assert_eq!(first(&state), "line 17");
    typed(&mut state, "NN");
    assert_eq!(first(&state), "line 78", "line 97 is on the last page");
    state.update(Input::Resize(Rect::new(0, 0, 40, 10)));
    typed(&mut state, "g");
    assert_eq!(first(&state), "line 0");
    let effects = typed(&mut state, "q");
    assert!(is_browsing(&state));
    assert_eq!(effects, [], "there is no room for a preview in ten rows");
}

#[test]
fn what_is_pasted_is_a_search_and_never_a_command() {
    let mut state = browsing();
    state.update(Input::Paste("plan\nq".to_owned()));
    assert_eq!(state.list.query(), "plan");
    assert_eq!(state.list.len(), 2);
}

#[test]
fn a_search_typed_before_the_list_is_there_counts() {
    let mut state = State::new(setup());
    state.update(Input::Counted(0, 3));
    typed(&mut state, "plan");
    let effects = state.update(Input::Listed(entries(), Some("odd".to_owned())));
    assert!(matches!(&effects[0], Effect::Search(_, _, files) if files.len() == 4));
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
                0..12 => Input::Key(Key::Char(char::from(letters[usize::from(key)]))),
                12 => Input::Key(Key::Delete),
                13 => Input::Key(Key::Ctrl('r')),
                14 => Input::Key(Key::Ctrl('e')),
                15 => Input::Key(Key::Ctrl(char::from(b"ota"[usize::from(width % 3)]))),
                16 => Input::Key(Key::Enter),
                17 => Input::Key(Key::Esc),
                18 if width % 2 == 0 => match &state.planning {
                    Some(path) => Input::Planned(path.clone(), Plan::sample()),
                    None => continue,
                },
                18 => Input::Read(state.ticket, Ok(vec!["x y".repeat(50)])),
                _ => Input::Resize(Rect::new(0, 0, width, height)),
            };
            state.update(input);
            let mut buffer = Canvas::new(state.setup.screen);
            crate::commands::sessions::browse::view::draw(&state, &mut buffer);
        }
    }
}
