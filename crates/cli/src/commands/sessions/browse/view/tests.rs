//! The drawn screen, in memory.

use std::time::{Duration, SystemTime};

use crossterm::style::Attribute;

use super::super::deletion::DeletionPlan;
use super::super::entry::BrowseEntry;
use super::super::keys::BrowseKey;
use super::super::state::{BrowserInput, BrowserSetup};
use super::*;

const NOW_MS: u64 = 1_800_000_000_000;

fn state(width: u16, height: u16) -> BrowserState {
    let now = i64::try_from(NOW_MS).unwrap();
    let mut state = BrowserState::new(BrowserSetup {
        screen: Rect::new(0, 0, width, height),
        marks: MarkSet::Unicode,
        colour: false,
        now: SystemTime::UNIX_EPOCH + Duration::from_millis(NOW_MS),
        place: "~/code/shop".to_owned(),
        is_everywhere: false,
    });
    let entries = vec![
        BrowseEntry::sample_entry(1, "Set up the database", 12, now - 3 * 86_400_000),
        BrowseEntry::sample_entry(
            2,
            "日本語のタイトルはとても長いのでここで切られるはずですがどうでしょうか、そうですね",
            104,
            now - 7_200_000,
        ),
        BrowseEntry::sample_entry(3, "Fix the login page", 4, now - 1000),
    ];
    state.take_input(BrowserInput::Listed(entries, None));
    let lines = [
        "session  gemini-2.5-pro",
        "> Fix the login page",
        "It is fixed.",
    ];
    state.take_input(BrowserInput::Read(1, Ok(lines.map(str::to_owned).to_vec())));
    state
}

fn drawn(state: &BrowserState) -> (String, Canvas) {
    let mut canvas = Canvas::new(state.setup.screen);
    draw_state(state, &mut canvas);
    (canvas.rows_text(), canvas)
}

#[test]
fn a_session_of_another_agent_has_its_messages_and_agent_and_only_a_recorded_one_is_marked() {
    let mut state = state(80, 16);
    let now = i64::try_from(NOW_MS).unwrap();
    let mut stored = BrowseEntry::sample_other("Plan the work", now);
    stored.messages = Some(7);
    stored.agent = Some("claude".to_owned());
    stored.is_recorded = false;
    let recorded = BrowseEntry::sample_other("Find the lighthouse", now - 7_200_000);
    state.take_input(BrowserInput::Listed(vec![stored, recorded], None));
    let (text, _) = drawn(&state);
    let rows = [
        ">   -    now     7  Plan the work\n r  -     2h        Find the lighthouse\n",
        "-0000-4000-8000-000000000000  claude  ",
    ];
    for row in rows {
        assert!(text.contains(row), "{row}\n{text}");
    }
}

#[test]
fn a_usual_terminal_shows_list_preview_and_keys() {
    let (text, _) = drawn(&state(80, 16));
    let expected = "\
Sessions  ~/code/shop                                  3 sessions · newest first
    #    age  msgs  title
>   3    now     4  Fix the login page
    2     2h   104  日本語のタイトルはとても長いのでここで切られるはずですがど…
    1     3d    12  Set up the database


── 00000003-0000-4000-8000-000000000000  1 kB ──────────────────────────────────
session  gemini-2.5-pro
> Fix the login page
It is fixed.




Letters search  Enter read  Ctrl-R resume  F1 help  Esc leave  Ctrl-E export
";
    assert_eq!(text, expected, "{text}");
}

#[test]
fn the_cursor_is_seen_by_its_mark_and_by_reverse_video_and_nothing_has_a_colour() {
    let mut state = state(80, 24);
    state.take_input(BrowserInput::Key(BrowseKey::End));
    let (text, canvas) = drawn(&state);
    let row = text.lines().position(|row| row.starts_with('>')).unwrap();
    assert_eq!(row, 4);
    for (x, style) in canvas.cell_styles().skip(4 * 80).take(80).enumerate() {
        assert!(style.attributes.has(Attribute::Reverse), "{x}");
    }
    let is_coloured =
        |it: CellStyle| it.foreground_color.is_some() || it.background_color.is_some();
    assert!(!canvas.cell_styles().any(is_coloured));
    state.setup.colour = true;
    state.take_input(BrowserInput::Key(BrowseKey::Up));
    state.take_input(BrowserInput::Read(3, Ok(vec!["> said".to_owned()])));
    let (_, canvas) = drawn(&state);
    assert!(canvas.cell_styles().any(is_coloured));
}

#[test]
fn a_tiny_terminal_still_shows_the_list() {
    let (text, _) = drawn(&state(20, 5));
    assert_eq!(
        text,
        "\
Sessions  ~/code/sh…
>   3  Fix the logi…
    2  日本語のタイ…
    1  Set up the d…
Letters search
"
    );
    for (width, height) in [(1, 1), (2, 2), (5, 3), (19, 4), (300, 1), (1, 100)] {
        let mut state = state(width, height);
        let (text, _) = drawn(&state);
        assert!(text.contains('>'), "{width}x{height}: {text}");
        for key in [
            BrowseKey::F1,
            BrowseKey::Esc,
            BrowseKey::Ctrl('e'),
            BrowseKey::Esc,
            BrowseKey::Delete,
            BrowseKey::Esc,
            BrowseKey::Enter,
        ] {
            state.take_input(BrowserInput::Key(key));
            drawn(&state);
        }
        state.take_input(BrowserInput::Key(BrowseKey::Esc));
        ask_to_delete(&mut state);
        drawn(&state);
    }
}

#[test]
fn where_the_locale_has_only_ascii_nothing_else_is_drawn() {
    let mut state = state(80, 24);
    state.setup.marks = MarkSet::Ascii;
    for key in [
        BrowseKey::Tab,
        BrowseKey::Tab,
        BrowseKey::F1,
        BrowseKey::Esc,
        BrowseKey::Delete,
        BrowseKey::Char('F'),
    ] {
        state.take_input(BrowserInput::Key(key));
        let (text, _) = drawn(&state);
        assert!(text.is_ascii(), "{text}");
    }
    ask_to_delete(&mut state);
    assert!(drawn(&state).0.is_ascii());
}

#[test]
fn a_wide_terminal_has_the_preview_beside_the_list() {
    let (text, _) = drawn(&state(140, 14));
    let row = text.lines().find(|row| row.starts_with('>')).unwrap();
    assert!(
        row.contains("Fix the login page") && row.contains("│ "),
        "{text}"
    );
    assert!(
        text.lines().any(|row| row.ends_with("│ It is fixed.")),
        "{text}"
    );
}

fn ask_to_delete(state: &mut BrowserState) {
    state.take_input(BrowserInput::Key(BrowseKey::Delete));
    let path = state.list.selected_entry().unwrap().path.clone();
    state.take_input(BrowserInput::Planned(path, DeletionPlan::sample_plan()));
}

#[test]
fn a_session_in_danger_has_a_mark_and_the_preview_says_why() {
    for width in [80, 140] {
        let mut state = state(width, 24);
        assert!(!drawn(&state).0.contains('!'));
        state.list.entries[2].endangered_by = Some("session-x.jsonl".to_owned());
        let (text, _) = drawn(&state);
        assert!(text.contains(">!  3 "), "{text}");
        assert!(text.contains("! Gemini CLI will delete this"), "{text}");
        assert!(text.contains("It is fixed."), "{text}");
        state.take_input(BrowserInput::Key(BrowseKey::Down));
        let (text, _) = drawn(&state);
        assert!(text.contains(" !  3 ") && !text.contains("will delete"));
    }
}

#[test]
fn questions_and_searches_stand_at_the_foot() {
    let mut state = state(80, 24);
    ask_to_delete(&mut state);
    let foot = |state: &BrowserState| drawn(state).0.lines().last().unwrap().to_owned();
    assert_eq!(
        foot(&state),
        "delete \"Fix the login page\" (2 files, 1.2 kB)? Type `yes`:          Esc keeps it"
    );
    let (text, _) = drawn(&state);
    assert!(
        text.contains(
            "This goes, once a copy is in the vault:\nchats/one.jsonl\ntool-outputs/session-1\n\n"
        ),
        "{text}"
    );
    state.take_input(BrowserInput::Key(BrowseKey::Esc));
    state.take_input(BrowserInput::Key(BrowseKey::Ctrl('e')));
    assert!(foot(&state).starts_with("export to: 00000003-0000-4000-8000-000000000000.md"));
    state.take_input(BrowserInput::Key(BrowseKey::Esc));
    for key in "data".chars() {
        state.take_input(BrowserInput::Key(BrowseKey::Char(key)));
    }
    assert_eq!(
        foot(&state),
        format!("search: data{:>68}", "searching 0 of 3 …")
    );
    let (text, _) = drawn(&state);
    assert!(text.contains("1 of 3 · newest first"), "{text}");
}

#[test]
fn the_help_page_names_every_key() {
    let mut state = state(80, 24);
    state.take_input(BrowserInput::Key(BrowseKey::F1));
    let (text, _) = drawn(&state);
    for key in [
        "Enter",
        "resume",
        "export",
        "delete",
        "Tab",
        "leave",
        "any key goes back",
    ] {
        assert!(text.contains(key), "{key}: {text}");
    }
}
