//! What the browser is doing. Pure: an [`Input`] changes the [`State`] and asks for [`Effect`]s; nothing is read or drawn here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use lapidary::render::live::MarkSet;

use super::canvas::Rect;
use super::confirm::{Answer, Question, Resumption};
use super::deletion::Plan;
use super::document::{Direction, Document};
use super::entry::Entry;
use super::full_text::Places;
use super::keys::Key;
use super::layout::Areas;
use super::list::{Files, List};
use super::open::Open;

/// A search may be so long.
pub(super) const LONGEST_QUERY: usize = 200;

/// What is known from the beginning.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) screen: Rect,
    pub(super) marks: MarkSet,
    pub(super) colour: bool,
    pub(super) now: SystemTime,
    /// Whose sessions: a directory, or all projects.
    pub(super) place: String,
    /// Sessions of several projects are shown.
    pub(super) is_everywhere: bool,
}

/// All that is on the screen.
#[derive(Debug)]
pub(super) struct State {
    pub(super) setup: Setup,
    pub(super) list: List,
    pub(super) listing: Reading,
    pub(super) mode: Mode,
    pub(super) preview: Preview,
    pub(super) with_preview: bool,
    /// A remark, until the next key.
    pub(super) note: Option<String>,
    /// How many files have been searched, and of how many, while it goes on.
    pub(super) searched: Option<(usize, usize)>,
    files: Files,
    /// It is being looked up what goes with the session in this file.
    planning: Option<PathBuf>,
    /// Counts what was asked of others: an answer to what was asked before is of no use.
    ticket: u64,
    searching: u64,
}

/// How far the listing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// So many files of so many.
    At(usize, usize),
    Done,
}

/// What takes the keys.
#[derive(Debug)]
pub(super) enum Mode {
    /// The list. What is typed is searched.
    Browsing,
    /// A transcript takes the whole screen.
    Open(Open),
    Help,
    Asking(Question),
}

/// The preview of what is under the cursor.
#[derive(Debug, Default)]
pub(super) enum Preview {
    /// There is nothing to be seen.
    #[default]
    Empty,
    /// It is being read.
    Coming(PathBuf),
    Ready(PathBuf, Document),
    /// Why there is none.
    Failed(PathBuf, String),
}

/// What happens.
#[derive(Debug)]
pub(super) enum Input {
    Key(Key),
    Paste(String),
    Resize(Rect),
    /// So many files of so many have been listed.
    Counted(usize, usize),
    Listed(Vec<Entry>, Option<String>),
    /// A transcript that was asked for, in harmless lines.
    Read(u64, Result<Vec<String>, String>),
    Found(u64, Found),
    /// A remark about what was done.
    Told(String),
    /// What would go with the session in this file.
    Planned(PathBuf, Plan),
    /// What was to be done to a file was not, and why: it may not be as it was listed.
    Refused(String),
    /// This file is gone.
    Deleted(PathBuf, String),
    /// Somebody wants us to end.
    Terminated,
}

/// What a search has found since it was last told.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) places: Places,
    pub(super) done: usize,
    pub(super) total: usize,
}

/// What is to be done by others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// List the sessions anew.
    List,
    /// Read a transcript. Whatever was to be read before is not needed any more.
    Read(u64, PathBuf, Extent),
    /// Search files. Whatever was searched before is not needed any more; without words nothing is.
    Search(u64, String, Files),
    Export(PathBuf, PathBuf),
    /// Look up what goes with the session in a file that was listed with this size.
    Plan(PathBuf, u64),
    /// Delete what was looked up for this file.
    Delete(PathBuf),
    /// Stop until the shell lets us go on.
    Suspend,
    Leave(Outcome),
}

/// How much of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Enough for a look.
    Preview,
    /// All that can be scrolled through.
    Whole,
}

/// How the browser was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// By somebody who wants to go on with this session.
    Resume(Resumption),
    /// By Ctrl-C or a signal.
    Interrupted,
}

impl State {
    pub(super) fn new(setup: Setup) -> Self {
        Self {
            setup,
            list: List::default(),
            listing: Reading::At(0, 0),
            mode: Mode::Browsing,
            preview: Preview::Empty,
            with_preview: true,
            note: None,
            searched: None,
            files: Arc::new([]),
            planning: None,
            ticket: 0,
            searching: 0,
        }
    }

    pub(super) fn areas(&self) -> Areas {
        Areas::of(self.setup.screen, self.with_preview)
    }

    /// Takes what happened; returns what is to be done about it.
    pub(super) fn update(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = match input {
            Input::Key(Key::Ctrl('c')) | Input::Terminated => {
                vec![Effect::Leave(Outcome::Interrupted)]
            }
            Input::Key(Key::Ctrl('z')) => vec![Effect::Suspend],
            Input::Key(key) => self.key(key),
            Input::Paste(text) => self.paste(&text),
            Input::Resize(screen) => self.resize(screen),
            Input::Counted(done, total) => {
                self.listing = Reading::At(done, total);
                Vec::new()
            }
            Input::Listed(entries, warning) => self.listed(entries, warning),
            Input::Read(ticket, text) if ticket == self.ticket => self.read(text),
            Input::Found(ticket, found) if ticket == self.searching => self.found(found),
            Input::Read(..) | Input::Found(..) => Vec::new(),
            Input::Told(note) => self.tell(note),
            Input::Planned(path, plan) => self.planned(&path, plan),
            Input::Refused(note) => {
                self.planning = None;
                self.note = Some(note);
                vec![Effect::List]
            }
            Input::Deleted(path, note) => {
                self.list.remove(&path);
                self.forget(&path);
                self.note = Some(note);
                vec![Effect::List] // those after it have other numbers now
            }
        };
        self.list.scroll(usize::from(self.areas().list.height));
        effects.extend(self.look());
        effects
    }

    fn key(&mut self, key: Key) -> Vec<Effect> {
        self.note = None;
        self.planning = None;
        match std::mem::replace(&mut self.mode, Mode::Browsing) {
            Mode::Browsing => self.browse(key),
            Mode::Open(open) => self.turn_pages(open, key),
            Mode::Help => Vec::new(), // any key goes back
            Mode::Asking(question) => self.answer(question, key),
        }
    }

    /// Letters are searched, so that no letter acts.
    fn browse(&mut self, key: Key) -> Vec<Effect> {
        if let Some(by) = key.motion_while_typing(usize::from(self.areas().list.height)) {
            self.list.step(by);
            return Vec::new();
        }
        let mut query = self.list.query().to_owned();
        let is_empty = query.is_empty();
        match key {
            Key::Ctrl('q') => return vec![Effect::Leave(Outcome::Done)],
            Key::Esc if is_empty => return vec![Effect::Leave(Outcome::Done)],
            Key::Esc => return self.search(String::new()),
            // Nothing is found by these alone.
            Key::Char('?') | Key::F1 if is_empty || key == Key::F1 => self.mode = Mode::Help,
            Key::Char('/' | ' ') if is_empty => {}
            Key::Tab => self.with_preview = !self.with_preview,
            Key::Enter => return self.open(),
            Key::Delete | Key::Ctrl('x') => return self.delete(),
            Key::Ctrl('r') => return self.resume(),
            Key::Ctrl('e') => self.ask(Question::export),
            Key::Ctrl('o') => self.list.next_sort(),
            Key::Ctrl('t') => self.list.reverse(),
            Key::Ctrl('a') => self.list.toggle_hidden(),
            Key::Ctrl('l') if self.setup.is_everywhere => self.list.toggle_project(),
            key if key.edits(&mut query, LONGEST_QUERY) => return self.search(query),
            _ => {}
        }
        Vec::new()
    }

    fn paste(&mut self, text: &str) -> Vec<Effect> {
        let line = text.split(['\r', '\n']).next().unwrap_or_default();
        match &mut self.mode {
            Mode::Browsing => {
                let mut query = self.list.query().to_owned();
                for letter in line.chars() {
                    Key::Char(letter).edits(&mut query, LONGEST_QUERY);
                }
                self.search(query)
            }
            Mode::Asking(question) => {
                let (typed, longest) = question.line();
                for letter in line.chars() {
                    Key::Char(letter).edits(typed, longest);
                }
                Vec::new()
            }
            // What is pasted elsewhere is no command.
            _ => Vec::new(),
        }
    }

    fn search(&mut self, query: String) -> Vec<Effect> {
        if query == self.list.query() {
            return Vec::new();
        }
        self.list.search(query);
        self.look_into_files()
    }

    /// Titles have been searched; now the texts are.
    fn look_into_files(&mut self) -> Vec<Effect> {
        self.searching += 1;
        let is_something = !self.list.words().is_empty();
        self.searched = is_something.then_some((0, self.files.len()));
        let query = self.list.query().to_owned();
        vec![Effect::Search(self.searching, query, self.files.clone())]
    }

    fn found(&mut self, found: Found) -> Vec<Effect> {
        self.searched = (found.done < found.total).then_some((found.done, found.total));
        if !found.places.is_empty() {
            self.list.add_found(found.places);
        }
        Vec::new()
    }

    fn listed(&mut self, entries: Vec<Entry>, warning: Option<String>) -> Vec<Effect> {
        self.listing = Reading::Done;
        self.list.fill(entries);
        self.files = self.list.files();
        self.note = warning.or(self.note.take());
        if self.list.query().is_empty() {
            return Vec::new();
        }
        self.look_into_files()
    }

    fn ask(&mut self, question: impl FnOnce(&Entry) -> Question) {
        if let Some(entry) = self.list.selected() {
            self.mode = Mode::Asking(question(entry));
        }
    }

    fn answer(&mut self, question: Question, key: Key) -> Vec<Effect> {
        match question.answer(key) {
            Answer::Open(question) => {
                self.mode = Mode::Asking(question);
                Vec::new()
            }
            Answer::No => Vec::new(),
            Answer::Delete(path) => {
                self.note = Some("deleting it".to_owned());
                vec![Effect::Delete(path)]
            }
            Answer::Export { path, to } => vec![Effect::Export(path, to)],
            Answer::Resume(it) => vec![Effect::Leave(Outcome::Resume(it))],
        }
    }

    /// What else goes is looked up first: that is part of the question.
    fn delete(&mut self) -> Vec<Effect> {
        let Some(entry) = self.list.selected() else {
            return Vec::new();
        };
        if !entry.is_session() {
            return self.tell("only sessions are deleted from here".to_owned());
        }
        let (path, size) = (entry.path.clone(), entry.size);
        self.planning = Some(path.clone());
        self.note = Some("looking what belongs to it".to_owned());
        vec![Effect::Plan(path, size)]
    }

    /// Asks, unless somebody has gone on to something else.
    fn planned(&mut self, path: &Path, plan: Plan) -> Vec<Effect> {
        let selected = self.list.selected().map(|entry| entry.path.as_path());
        if self
            .planning
            .take()
            .is_some_and(|planning| planning == path)
            && selected == Some(path)
        {
            self.note = None;
            self.ask(|entry| Question::delete(entry, plan));
        }
        Vec::new()
    }

    fn resume(&mut self) -> Vec<Effect> {
        let Some(entry) = self.list.selected() else {
            return Vec::new();
        };
        if !entry.is_session() {
            return self.tell("there is nothing in it to resume".to_owned());
        }
        // An agent works where it is started: better nowhere than in a directory that has nothing to do with it.
        if entry.root.is_none() {
            let why =
                "nothing says where its project is: go there, and say `lapidary sessions resume`";
            return self.tell(why.to_owned());
        }
        self.ask(Question::resume);
        Vec::new()
    }

    fn open(&mut self) -> Vec<Effect> {
        let Some(entry) = self.list.selected() else {
            return Vec::new();
        };
        let path = entry.path.clone();
        self.mode = Mode::Open(Open {
            title: entry.title.clone(),
            query: self.list.query().to_owned(),
            ..Open::default()
        });
        self.ticket += 1;
        // The answer to what the preview asked for will not be taken any more.
        if matches!(self.preview, Preview::Coming(_)) {
            self.preview = Preview::Empty;
        }
        vec![Effect::Read(self.ticket, path, Extent::Whole)]
    }

    fn turn_pages(&mut self, mut open: Open, key: Key) -> Vec<Effect> {
        let height = usize::from(Areas::page(self.setup.screen).1.height);
        if open.is_typing {
            open.type_search(key, height);
        } else if matches!(key, Key::Esc | Key::Char('q')) {
            self.ticket += 1; // what is still being read is not waited for
            return Vec::new();
        } else if let Some(note) = open.turn(key, height) {
            self.note = Some(note);
        }
        self.mode = Mode::Open(open);
        Vec::new()
    }

    fn read(&mut self, text: Result<Vec<String>, String>) -> Vec<Effect> {
        if let Mode::Open(open) = &mut self.mode {
            let width = usize::from(self.setup.screen.width);
            let height = usize::from(Areas::page(self.setup.screen).1.height);
            open.fill(text.unwrap_or_else(|error| vec![error]), width, height);
        } else if let Preview::Coming(path) = std::mem::take(&mut self.preview) {
            self.preview = match text {
                Ok(lines) => {
                    let area = self.areas().preview;
                    let mut document = Document::new(lines, usize::from(area.width));
                    let height = usize::from(area.height);
                    document.find(&self.list.words(), Direction::Here, height);
                    Preview::Ready(path, document)
                }
                Err(error) => Preview::Failed(path, error),
            };
        }
        Vec::new()
    }

    fn resize(&mut self, screen: Rect) -> Vec<Effect> {
        self.setup.screen = screen;
        if let Mode::Open(Open {
            document: Some(document),
            ..
        }) = &mut self.mode
        {
            document.fit(usize::from(screen.width));
        }
        Vec::new()
    }

    /// Asks for the preview of what is under the cursor, if it is not there already.
    fn look(&mut self) -> Option<Effect> {
        let area = self.areas().preview;
        if matches!(self.mode, Mode::Open(_)) || area.is_empty() {
            return None;
        }
        let Some(entry) = self.list.selected() else {
            self.preview = Preview::Empty;
            return None;
        };
        if let Preview::Ready(path, document) = &mut self.preview
            && *path == entry.path
        {
            document.fit(usize::from(area.width));
        }
        if self.preview.path() == Some(&entry.path) {
            return None;
        }
        self.ticket += 1;
        let path = entry.path.clone();
        self.preview = Preview::Coming(path.clone());
        Some(Effect::Read(self.ticket, path, Extent::Preview))
    }

    fn tell(&mut self, note: String) -> Vec<Effect> {
        self.note = Some(note);
        Vec::new()
    }

    /// What is gone is not shown, and not searched.
    fn forget(&mut self, path: &Path) {
        if self.preview.path().is_some_and(|shown| shown == path) {
            self.preview = Preview::Empty;
        }
        self.files = self.list.files();
    }
}

impl Preview {
    fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Empty => None,
            Self::Coming(path) | Self::Ready(path, _) | Self::Failed(path, _) => Some(path),
        }
    }
}

#[cfg(test)]
mod tests;
