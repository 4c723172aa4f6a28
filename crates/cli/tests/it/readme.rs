//! The README: short, with links whose targets exist and an excerpt that the program prints.

use std::fs;

use crate::run::world::World;
use crate::sessions::pty::Pty;
use crate::support::root;

const MOST_WORDS: usize = 900;

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

#[test]
fn the_readme_has_at_most_nine_hundred_words() {
    let count = readme().split_whitespace().count();
    assert!(count <= MOST_WORDS, "{count} words");
}

#[test]
fn every_link_of_a_document_leads_to_a_file() {
    let mut pages = vec![root().join("README.md"), root().join("ARCHITECTURE.md")];
    let docs = fs::read_dir(root().join("docs")).unwrap().flatten();
    pages.extend(docs.map(|entry| entry.path()));
    pages.retain(|page| page.extension().is_some_and(|it| it == "md"));
    let mut count = 0;
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let target = page.parent().unwrap().join(link);
            assert!(target.exists(), "{}: `{link}`", page.display());
            count += 1;
        }
    }
    assert!(count > 20, "links are found: {count}");
}

/// The relative targets of `[text](target)`, without the part from `#` on.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains("://"))
}

#[test]
fn the_readme_shows_the_demo_as_a_terminal_does() {
    let readme = readme();
    let (_, rest) = readme
        .split_once("```console\n$ lapidary run --agent demo")
        .unwrap();
    let (excerpt, _) = rest.split_once("\n```").unwrap();
    let world = World::with_agent("exit 1");
    let mut command = world.lapidary(&["run", "--agent", "demo", "what can you do?"]);
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    let mut pty = Pty::spawn(&command, (80, 200));
    pty.wait_for("Allow?");
    pty.type_in("y\n");
    assert_eq!(pty.ended().code, 0);
    let screen = pty.screen();
    let mut shown = screen.lines().map(without_times);
    for line in excerpt.lines().skip(1).filter(|line| *line != "…") {
        let wanted = without_times(line);
        assert!(
            shown.any(|line| is_shown_by(&wanted, &line)),
            "`{wanted}` is not where it should be in\n{screen}"
        );
    }
}

/// A line of the excerpt that ends with `…` stands for the beginning of a line.
fn is_shown_by(wanted: &str, line: &str) -> bool {
    match wanted.strip_suffix('…') {
        Some(beginning) => line.starts_with(beginning),
        None => line == wanted,
    }
}

/// A line without its seconds, which differ from run to run.
fn without_times(line: &str) -> String {
    let words = line.trim_end().split(' ');
    let kept = words.filter(|word| word.parse::<f64>().is_err());
    kept.collect::<Vec<_>>().join(" ")
}
