//! The state of the browser. Pure: a [`BrowserInput`] changes the [`BrowserState`] and asks for [`BrowserEffect`]s; nothing is
//! read or drawn here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use lapidary::render::live::MarkSet;

use super::canvas::Rect;
use super::confirm::{FooterAnswer, FooterQuestion, SessionResumption};
use super::deletion::DeletionPlan;
use super::document::{ScrolledDocument, SearchDirection};
use super::entry::BrowseEntry;
use super::full_text::FoundPlaces;
use super::keys::BrowseKey;
use super::layout::ScreenAreas;
use super::list::{BrowseList, EntryFiles};
use super::open::OpenTranscript;

/// A search may be so long.
pub(super) const LONGEST_QUERY: usize = 200;

/// Facts that do not change, except for the screen.
#[derive(Debug, Clone)]
pub(super) struct BrowserSetup {
    pub(super) screen: Rect,
    pub(super) marks: MarkSet,
    pub(super) colour: bool,
    pub(super) now: SystemTime,
    /// The owner of the sessions: a directory, or all projects.
    pub(super) place: String,
    /// Sessions of several projects are shown.
    pub(super) is_everywhere: bool,
}

/// The content of the screen.
#[derive(Debug)]
pub(super) struct BrowserState {
    pub(super) setup: BrowserSetup,
    pub(super) list: BrowseList,
    pub(super) listing: ListingProgress,
    pub(super) mode: InputMode,
    pub(super) preview: PreviewState,
    pub(super) with_preview: bool,
    /// A remark, until the next key.
    pub(super) note: Option<String>,
    /// How many files have been searched, and of how many, while it goes on.
    pub(super) searched: Option<(usize, usize)>,
    files: EntryFiles,
    /// The session file of the deletion that is being planned.
    planning: Option<PathBuf>,
    /// Counts requests to workers: the answer to an older request is dropped.
    ticket: u64,
    searching: u64,
}

/// How far the listing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListingProgress {
    /// So many files of so many.
    At(usize, usize),
    Done,
}

/// The mode that takes the keys.
#[derive(Debug)]
pub(super) enum InputMode {
    /// The list. Typed letters are searched.
    Browsing,
    /// A transcript takes the whole screen.
    Open(OpenTranscript),
    Help,
    Asking(FooterQuestion),
}

/// The preview of the row under the cursor.
#[derive(Debug, Default)]
pub(super) enum PreviewState {
    /// There is nothing to be seen.
    #[default]
    Empty,
    /// It is being read.
    Coming(PathBuf),
    Ready(PathBuf, ScrolledDocument),
    /// Why there is none.
    Failed(PathBuf, String),
}

/// An event for the browser.
#[derive(Debug)]
pub(super) enum BrowserInput {
    Key(BrowseKey),
    Paste(String),
    Resize(Rect),
    /// So many files of so many have been listed.
    Counted(usize, usize),
    Listed(Vec<BrowseEntry>, Option<String>),
    /// A requested transcript, in filtered lines.
    Read(u64, Result<Vec<String>, String>),
    Found(u64, FoundSessions),
    /// A remark about a finished action.
    Remark(String),
    /// The deletion plan for the session in this file.
    Planned(PathBuf, DeletionPlan),
    /// An action on a file was refused, with the reason: the file may have changed since it was listed.
    Refused(String),
    /// This file is gone.
    Deleted(PathBuf, String),
    /// A signal asks this process to end.
    Terminated,
}

/// The matches of a search since its last report.
#[derive(Debug, Default)]
pub(super) struct FoundSessions {
    pub(super) places: FoundPlaces,
    pub(super) done: usize,
    pub(super) total: usize,
}

/// Work for the workers and the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BrowserEffect {
    /// List the sessions anew.
    List,
    /// Read a transcript. It replaces an older request.
    Read(u64, PathBuf, TranscriptExtent),
    /// Search files. It replaces an older request; without words there is no search.
    Search(u64, String, EntryFiles),
    Export(PathBuf, PathBuf),
    /// Look up the files of the session in a file that was listed with this size.
    Plan(PathBuf, u64),
    /// Delete the files that were looked up for this file.
    Delete(PathBuf),
    /// Stop until the shell lets us go on.
    Suspend,
    Leave(BrowserOutcome),
}

/// How much of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TranscriptExtent {
    /// Enough for a look.
    Preview,
    /// All that can be scrolled through.
    Whole,
}

/// How the browser was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BrowserOutcome {
    Done,
    /// The user wants to resume this session.
    Resume(SessionResumption),
    /// By Ctrl-C or a signal.
    Interrupted,
}

impl BrowserState {
    pub(super) fn new(setup: BrowserSetup) -> Self {
        Self {
            setup,
            list: BrowseList::default(),
            listing: ListingProgress::At(0, 0),
            mode: InputMode::Browsing,
            preview: PreviewState::Empty,
            with_preview: true,
            note: None,
            searched: None,
            files: Arc::new([]),
            planning: None,
            ticket: 0,
            searching: 0,
        }
    }

    pub(super) fn screen_areas(&self) -> ScreenAreas {
        ScreenAreas::new(self.setup.screen, self.with_preview)
    }

    /// Takes an input; returns its effects.
    pub(super) fn take_input(&mut self, input: BrowserInput) -> Vec<BrowserEffect> {
        let mut effects = match input {
            BrowserInput::Key(BrowseKey::Ctrl('c')) | BrowserInput::Terminated => {
                vec![BrowserEffect::Leave(BrowserOutcome::Interrupted)]
            }
            BrowserInput::Key(BrowseKey::Ctrl('z')) => vec![BrowserEffect::Suspend],
            BrowserInput::Key(key) => self.take_key(key),
            BrowserInput::Paste(text) => self.paste_text(&text),
            BrowserInput::Resize(screen) => self.resize_screen(screen),
            BrowserInput::Counted(done, total) => {
                self.listing = ListingProgress::At(done, total);
                Vec::new()
            }
            BrowserInput::Listed(entries, warning) => self.take_entries(entries, warning),
            BrowserInput::Read(ticket, text) if ticket == self.ticket => self.take_transcript(text),
            BrowserInput::Found(ticket, found) if ticket == self.searching => {
                self.take_matches(found)
            }
            BrowserInput::Read(..) | BrowserInput::Found(..) => Vec::new(),
            BrowserInput::Remark(note) => self.show_remark(note),
            BrowserInput::Planned(path, plan) => self.ask_for_deletion(&path, plan),
            BrowserInput::Refused(note) => {
                self.planning = None;
                self.note = Some(note);
                vec![BrowserEffect::List]
            }
            BrowserInput::Deleted(path, note) => {
                self.list.remove_file(&path);
                self.forget_file(&path);
                self.note = Some(note);
                vec![BrowserEffect::List] // those after it have other numbers now
            }
        };
        self.list
            .scroll_to_cursor(usize::from(self.screen_areas().list.height));
        effects.extend(self.request_preview());
        effects
    }

    fn take_key(&mut self, key: BrowseKey) -> Vec<BrowserEffect> {
        self.note = None;
        self.planning = None;
        match std::mem::replace(&mut self.mode, InputMode::Browsing) {
            InputMode::Browsing => self.take_list_key(key),
            InputMode::Open(open) => self.turn_pages(open, key),
            InputMode::Help => Vec::new(), // any key goes back
            InputMode::Asking(question) => self.answer_question(question, key),
        }
    }

    /// Letters are searched, so that no letter acts.
    fn take_list_key(&mut self, key: BrowseKey) -> Vec<BrowserEffect> {
        if let Some(by) = key.motion_while_typing(usize::from(self.screen_areas().list.height)) {
            self.list.step_cursor(by);
            return Vec::new();
        }
        let mut query = self.list.search_query().to_owned();
        let is_empty = query.is_empty();
        match key {
            BrowseKey::Ctrl('q') => return vec![BrowserEffect::Leave(BrowserOutcome::Done)],
            BrowseKey::Esc if is_empty => return vec![BrowserEffect::Leave(BrowserOutcome::Done)],
            BrowseKey::Esc => return self.start_search(String::new()),
            // These keys alone search for nothing, so they have other functions.
            BrowseKey::Char('?') | BrowseKey::F1 if is_empty || key == BrowseKey::F1 => {
                self.mode = InputMode::Help;
            }
            BrowseKey::Char('/' | ' ') if is_empty => {}
            BrowseKey::Tab => self.with_preview = !self.with_preview,
            BrowseKey::Enter => return self.open(),
            BrowseKey::Delete | BrowseKey::Ctrl('x') => return self.plan_deletion(),
            BrowseKey::Ctrl('r') => return self.resume_selected(),
            BrowseKey::Ctrl('e') => self.ask_question(FooterQuestion::export_question),
            BrowseKey::Ctrl('o') => self.list.next_sort(),
            BrowseKey::Ctrl('t') => self.list.reverse_order(),
            BrowseKey::Ctrl('a') => self.list.toggle_hidden(),
            BrowseKey::Ctrl('l') if self.setup.is_everywhere => self.list.toggle_project(),
            key if key.edit_line(&mut query, LONGEST_QUERY) => return self.start_search(query),
            _ => {}
        }
        Vec::new()
    }

    fn paste_text(&mut self, text: &str) -> Vec<BrowserEffect> {
        let line = text.split(['\r', '\n']).next().unwrap_or_default();
        match &mut self.mode {
            InputMode::Browsing => {
                let mut query = self.list.search_query().to_owned();
                for letter in line.chars() {
                    BrowseKey::Char(letter).edit_line(&mut query, LONGEST_QUERY);
                }
                self.start_search(query)
            }
            InputMode::Asking(question) => {
                let (typed, longest) = question.typed_line();
                for letter in line.chars() {
                    BrowseKey::Char(letter).edit_line(typed, longest);
                }
                Vec::new()
            }
            // Pasted text is never a command.
            _ => Vec::new(),
        }
    }

    fn start_search(&mut self, query: String) -> Vec<BrowserEffect> {
        if query == self.list.search_query() {
            return Vec::new();
        }
        self.list.start_search(query);
        self.look_into_files()
    }

    /// Titles have been searched; now the texts are.
    fn look_into_files(&mut self) -> Vec<BrowserEffect> {
        self.searching += 1;
        let is_something = !self.list.search_words().is_empty();
        self.searched = is_something.then_some((0, self.files.len()));
        let query = self.list.search_query().to_owned();
        vec![BrowserEffect::Search(
            self.searching,
            query,
            self.files.clone(),
        )]
    }

    fn take_matches(&mut self, found: FoundSessions) -> Vec<BrowserEffect> {
        self.searched = (found.done < found.total).then_some((found.done, found.total));
        if !found.places.is_empty() {
            self.list.add_found(found.places);
        }
        Vec::new()
    }

    fn take_entries(
        &mut self,
        entries: Vec<BrowseEntry>,
        warning: Option<String>,
    ) -> Vec<BrowserEffect> {
        self.listing = ListingProgress::Done;
        self.list.fill_entries(entries);
        self.files = self.list.searched_files();
        self.note = warning.or(self.note.take());
        if self.list.search_query().is_empty() {
            return Vec::new();
        }
        self.look_into_files()
    }

    fn ask_question(&mut self, question: impl FnOnce(&BrowseEntry) -> FooterQuestion) {
        if let Some(entry) = self.list.selected_entry() {
            self.mode = InputMode::Asking(question(entry));
        }
    }

    fn answer_question(&mut self, question: FooterQuestion, key: BrowseKey) -> Vec<BrowserEffect> {
        match question.take_key(key) {
            FooterAnswer::Open(question) => {
                self.mode = InputMode::Asking(question);
                Vec::new()
            }
            FooterAnswer::No => Vec::new(),
            FooterAnswer::Delete(path) => {
                self.note = Some("deleting it".to_owned());
                vec![BrowserEffect::Delete(path)]
            }
            FooterAnswer::Export { path, to } => vec![BrowserEffect::Export(path, to)],
            FooterAnswer::Resume(it) => vec![BrowserEffect::Leave(BrowserOutcome::Resume(it))],
        }
    }

    /// Looks up the other files of the session first: they are part of the question.
    fn plan_deletion(&mut self) -> Vec<BrowserEffect> {
        let Some(entry) = self.list.selected_entry() else {
            return Vec::new();
        };
        if !entry.is_session() {
            return self.show_remark("only sessions are deleted from here".to_owned());
        }
        if let Some(why) = entry.refusals.as_ref().and_then(|it| it.delete.clone()) {
            return self.show_remark(why);
        }
        let (path, size) = (entry.path.clone(), entry.size);
        self.planning = Some(path.clone());
        self.note = Some("looking what belongs to it".to_owned());
        vec![BrowserEffect::Plan(path, size)]
    }

    /// Asks, unless the user has moved to another row.
    fn ask_for_deletion(&mut self, path: &Path, plan: DeletionPlan) -> Vec<BrowserEffect> {
        let selected = self.list.selected_entry().map(|entry| entry.path.as_path());
        if self
            .planning
            .take()
            .is_some_and(|planning| planning == path)
            && selected == Some(path)
        {
            self.note = None;
            self.ask_question(|entry| FooterQuestion::delete_question(entry, plan));
        }
        Vec::new()
    }

    fn resume_selected(&mut self) -> Vec<BrowserEffect> {
        let Some(entry) = self.list.selected_entry() else {
            return Vec::new();
        };
        if !entry.is_session() {
            return self.show_remark("there is nothing in it to resume".to_owned());
        }
        if let Some(why) = entry.refusals.as_ref().and_then(|it| it.resume.clone()) {
            return self.show_remark(why);
        }
        // An agent works where it is started: better nowhere than in a directory that has nothing to do with it.
        if entry.root.is_none() {
            let why =
                "nothing says where its project is: go there, and say `lapidary sessions resume`";
            return self.show_remark(why.to_owned());
        }
        self.ask_question(FooterQuestion::resume_question);
        Vec::new()
    }

    fn open(&mut self) -> Vec<BrowserEffect> {
        let Some(entry) = self.list.selected_entry() else {
            return Vec::new();
        };
        let path = entry.path.clone();
        self.mode = InputMode::Open(OpenTranscript {
            title: entry.title.clone(),
            query: self.list.search_query().to_owned(),
            ..OpenTranscript::default()
        });
        self.ticket += 1;
        // The answer to the request of the preview will be dropped.
        if matches!(self.preview, PreviewState::Coming(_)) {
            self.preview = PreviewState::Empty;
        }
        vec![BrowserEffect::Read(
            self.ticket,
            path,
            TranscriptExtent::Whole,
        )]
    }

    fn turn_pages(&mut self, mut open: OpenTranscript, key: BrowseKey) -> Vec<BrowserEffect> {
        let height = usize::from(ScreenAreas::page_areas(self.setup.screen).1.height);
        if open.is_typing {
            open.type_search(key, height);
        } else if matches!(key, BrowseKey::Esc | BrowseKey::Char('q')) {
            self.ticket += 1; // drops the answer to the pending read
            return Vec::new();
        } else if let Some(note) = open.take_key(key, height) {
            self.note = Some(note);
        }
        self.mode = InputMode::Open(open);
        Vec::new()
    }

    fn take_transcript(&mut self, text: Result<Vec<String>, String>) -> Vec<BrowserEffect> {
        if let InputMode::Open(open) = &mut self.mode {
            let width = usize::from(self.setup.screen.width);
            let height = usize::from(ScreenAreas::page_areas(self.setup.screen).1.height);
            open.fill_lines(text.unwrap_or_else(|error| vec![error]), width, height);
        } else if let PreviewState::Coming(path) = std::mem::take(&mut self.preview) {
            self.preview = match text {
                Ok(lines) => {
                    let area = self.screen_areas().preview;
                    let mut document = ScrolledDocument::new(lines, usize::from(area.width));
                    let height = usize::from(area.height);
                    document.find_row(&self.list.search_words(), SearchDirection::Here, height);
                    PreviewState::Ready(path, document)
                }
                Err(error) => PreviewState::Failed(path, error),
            };
        }
        Vec::new()
    }

    fn resize_screen(&mut self, screen: Rect) -> Vec<BrowserEffect> {
        self.setup.screen = screen;
        if let InputMode::Open(OpenTranscript {
            document: Some(document),
            ..
        }) = &mut self.mode
        {
            document.fit_width(usize::from(screen.width));
        }
        Vec::new()
    }

    /// Asks for the preview of the row under the cursor, if it is not there already.
    fn request_preview(&mut self) -> Option<BrowserEffect> {
        let area = self.screen_areas().preview;
        if matches!(self.mode, InputMode::Open(_)) || area.is_empty() {
            return None;
        }
        let Some(entry) = self.list.selected_entry() else {
            self.preview = PreviewState::Empty;
            return None;
        };
        if let PreviewState::Ready(path, document) = &mut self.preview
            && *path == entry.path
        {
            document.fit_width(usize::from(area.width));
        }
        if self.preview.preview_path() == Some(&entry.path) {
            return None;
        }
        self.ticket += 1;
        let path = entry.path.clone();
        self.preview = PreviewState::Coming(path.clone());
        Some(BrowserEffect::Read(
            self.ticket,
            path,
            TranscriptExtent::Preview,
        ))
    }

    fn show_remark(&mut self, note: String) -> Vec<BrowserEffect> {
        self.note = Some(note);
        Vec::new()
    }

    /// A deleted file is neither shown nor searched.
    fn forget_file(&mut self, path: &Path) {
        if self
            .preview
            .preview_path()
            .is_some_and(|shown| shown == path)
        {
            self.preview = PreviewState::Empty;
        }
        self.files = self.list.searched_files();
    }
}

impl PreviewState {
    fn preview_path(&self) -> Option<&PathBuf> {
        match self {
            Self::Empty => None,
            Self::Coming(path) | Self::Ready(path, _) | Self::Failed(path, _) => Some(path),
        }
    }
}

#[cfg(test)]
mod tests;
