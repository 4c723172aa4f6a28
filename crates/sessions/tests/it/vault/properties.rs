//! For any actions of the CLI between before and after, no message is lost without a reason, and the CLI's next start deletes
//! nothing.

use std::collections::BTreeSet;
use std::fs;

use lapidary_sessions::vault::{ContentFacts, Guard, GuardRequest};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::json;

use super::chats::{Chats, context, header, later, line, now, session, shown, start, turn, user};

const TIME: &str = "2026-11-16T04:44:31.000Z";

/// An action of the CLI, another client or a crash on a session.
#[derive(Debug, Clone)]
enum Deed {
    Turn,
    /// A file of the same id with nothing in it.
    Stub,
    /// The lines that a load appends in the minute in which the session was made.
    Clobber,
    /// The conversation again, without its fields.
    Poor,
    Delete,
    /// All files of the short id, as its cleanup does.
    DeleteAll,
    Truncate(usize),
    /// Written anew, from memory.
    Rewrite,
    RewindNowhere,
    Summary,
    Torn,
}

fn deed() -> impl Strategy<Value = (usize, Deed)> {
    let deed = prop_oneof![
        Just(Deed::Turn),
        Just(Deed::Stub),
        Just(Deed::Clobber),
        Just(Deed::Poor),
        Just(Deed::Delete),
        Just(Deed::DeleteAll),
        (0..2000_usize).prop_map(Deed::Truncate),
        Just(Deed::Rewrite),
        Just(Deed::RewindNowhere),
        Just(Deed::Summary),
        Just(Deed::Torn),
    ];
    (0..4_usize, deed)
}

fn id(session: usize) -> String {
    // Two of them share their eight characters.
    ["aaaaaaaa-1", "aaaaaaaa-2", "bbbbbbbb-1", "cccccccc-1"][session].to_owned()
}

/// The third session is of this minute, and renamed if it is resumed: a process that has it open goes on under the old name. The
/// fourth is of a CLI without a prompt yet.
const MINUTES: [usize; 4] = [40, 41, 44, 43];

fn name(session: usize) -> String {
    let (minute, short) = (MINUTES[session], &id(session)[..8]);
    format!("session-2026-11-16T04-{minute}-{short}.jsonl")
}

fn carry_out(chats: &Chats, n: usize, session: usize, deed: &Deed) {
    let (name, id) = (name(session), id(session));
    let path = chats.path(&name);
    match deed {
        Deed::Turn => chats.append(&name, &turn(&format!("new{n}"))),
        Deed::Stub => {
            let name = format!("session-2026-11-16T04-44-{}.jsonl", &id[..8]);
            chats.append(&name, &start(&id, TIME));
        }
        Deed::Clobber => chats.append(&name, &start(&id, TIME)),
        Deed::Poor => {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let poor = |id: &String| user(id, "poor");
            let all: Vec<_> = shown(&text).iter().map(poor).collect();
            chats.append(&name, &line(&json!({"$set": {"messages": all}})));
        }
        Deed::Delete => drop(fs::remove_file(&path)),
        Deed::DeleteAll => {
            for other in chats.names() {
                if other.contains(&id[..8]) {
                    let _ = fs::remove_file(chats.path(&other));
                }
            }
        }
        Deed::Truncate(size) => {
            let text = fs::read(&path).unwrap_or_default();
            let _ = fs::write(&path, &text[..text.len().min(*size)]);
        }
        Deed::Rewrite => drop(fs::write(
            &path,
            header(&id, TIME) + &turn(&format!("new{n}")),
        )),
        Deed::RewindNowhere => chats.append(&name, &line(&json!({"$rewindTo": "nobody"}))),
        Deed::Summary => {
            let summary =
                json!({"$set": {"messages": [context(), user(&format!("sum{n}"), "So far")]}});
            chats.append(&name, &line(&summary));
        }
        Deed::Torn => chats.append(&name, "{\"id\":\"torn\",\"content\":\"hel"),
    }
}

/// The new messages that nothing took away afterwards.
fn typed(deeds: &[(usize, Deed)]) -> Vec<String> {
    let mut typed: Vec<(usize, String)> = Vec::new();
    for (n, (session, deed)) in deeds.iter().enumerate() {
        match deed {
            Deed::DeleteAll => typed.retain(|it| id(it.0)[..8] != id(*session)[..8]),
            Deed::Delete | Deed::Truncate(_) | Deed::Rewrite | Deed::Summary => {
                typed.retain(|it| it.0 != *session);
            }
            _ => {}
        }
        if matches!(deed, Deed::Turn | Deed::Rewrite) {
            typed.extend(["u", "g"].map(|it| (*session, format!("new{n}-{it}"))));
        }
    }
    typed.into_iter().map(|it| it.1).collect()
}

fn make_all(chats: &Chats) {
    for n in 0..3 {
        let turns = [format!("a{n}"), format!("b{n}")];
        chats.write(
            &name(n),
            &session(&id(n), &turns.each_ref().map(String::as_str)),
        );
    }
    let path = chats.write(&name(3), &start(&id(3), TIME));
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(now()).unwrap();
}

/// The sessions that the CLI lists, each with the messages of the file that was last updated.
fn listed(chats: &Chats) -> Vec<(String, String, BTreeSet<String>)> {
    let mut sessions: Vec<(String, String, BTreeSet<String>)> = Vec::new();
    for name in chats.names() {
        let text = String::from_utf8_lossy(&fs::read(chats.path(&name)).unwrap()).into_owned();
        let facts = ContentFacts::read(text.as_bytes());
        let (true, Some(id)) = (facts.listed, facts.session_id) else {
            continue;
        };
        let updated = facts.last_updated.unwrap_or_default();
        let known = sessions.iter_mut().find(|it| it.0 == id);
        match known {
            Some(known) if updated <= known.1 => {}
            Some(known) => *known = (id, updated, shown(&text).into_iter().collect()),
            None => sessions.push((id, updated, shown(&text).into_iter().collect())),
        }
    }
    sessions
}

/// The files that the CLI's next start would delete: files without content, and all that share their eight characters.
fn endangered(chats: &Chats) -> Vec<String> {
    let names = chats.names();
    let short = |name: &str| name[name.len() - 14..name.len() - 6].to_owned();
    let is_listed =
        |name: &&String| ContentFacts::read(&fs::read(chats.path(name)).unwrap()).listed;
    let stubs: BTreeSet<_> = names
        .iter()
        .filter(|it| !is_listed(it))
        .map(|it| short(it))
        .collect();
    let real = names.iter().filter(is_listed);
    real.filter(|it| stubs.contains(&short(it)))
        .cloned()
        .collect()
}

proptest! {
    // A fixed seed makes the same cases each time; another seed makes others.
    #![proptest_config(ProptestConfig { cases: 150, rng_seed: RngSeed::Fixed(5), ..ProptestConfig::default() })]

    #[test]
    fn no_message_is_lost_between_before_and_after(
        deeds in prop::collection::vec(deed(), 0..7),
        resume in prop::option::of(0..3_usize),
    ) {
        let chats = Chats::new();
        make_all(&chats);
        let request = GuardRequest { resume: resume.map(id), ..chats.request() };
        let guard = Guard::before(&chats.vault(), request).unwrap();
        let before = listed(&chats);
        for (n, (session, deed)) in deeds.iter().enumerate() {
            carry_out(&chats, n, *session, deed);
        }
        let repair = guard.after(later(1)).unwrap();
        let after = listed(&chats);
        for (id_before, _, messages) in &before {
            let now = after.iter().find(|it| it.0 == *id_before);
            prop_assert!(now.is_some(), "{id_before} is not listed: {repair:?}");
            // A summary intentionally leaves out the messages that it sums up.
            let summed_up = deeds.iter().any(|(n, deed)| matches!(deed, Deed::Summary) && id(*n) == *id_before);
            let is_there = |it: &&String| now.is_some_and(|now| now.2.contains(*it));
            let missing: Vec<_> = messages.iter().filter(|it| !is_there(it)).collect();
            prop_assert!(summed_up || missing.is_empty(), "{id_before} lost {missing:?}: {repair:?}");
        }
        for message in typed(&deeds) {
            let is_there = after.iter().any(|it| it.2.contains(&message));
            prop_assert!(is_there, "{message} is lost: {repair:?}");
        }
        prop_assert_eq!(endangered(&chats), Vec::<String>::new());
        prop_assert!(chats.vault().verify().unwrap().is_sound());
        // Doing it again changes nothing.
        let again = chats.guard();
        prop_assert_eq!(&again.actions, &vec![]);
        prop_assert_eq!(again.after(later(2)).unwrap().actions, vec![]);
    }

    #[test]
    fn no_bytes_make_recovering_fail(text in ".{0,400}", cut in 0..3000_usize) {
        let chats = Chats::new();
        let mut bytes = session(&id(0), &["one", "two"]).into_bytes();
        bytes.truncate(cut);
        bytes.extend(text.as_bytes());
        let path = chats.path(&name(0));
        fs::write(&path, &bytes).unwrap();
        let depth = lapidary_sessions::vault::recover::ReadingDepth::Hidden;
        let plan = lapidary_sessions::vault::recover::plan(&path, depth).unwrap();
        prop_assert!(plan.total >= plan.shown);
        let done = plan.apply(&chats.vault(), later(1)).unwrap();
        let new = fs::read_to_string(done.path).unwrap();
        prop_assert_eq!(shown(&new).len(), plan.total);
        for id in shown(&String::from_utf8_lossy(&bytes)) {
            prop_assert!(shown(&new).contains(&id));
        }
    }
}
