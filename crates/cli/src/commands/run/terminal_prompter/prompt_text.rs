//! The text of a permission prompt: the command or the change, filtered, and cut if it is long.

use std::fmt::Write as _;
use std::path::Path;

use lapidary::engine::conversation::PermissionPrompt;
use lapidary::engine::policy::StandingAnswer;
use lapidary::render::diff::unified;
use lapidary::render::live::{LiveOptions, ScreenRow, approval};
use lapidary::render::plain;
use lapidary::vocab::Text;
use lapidary::vocab::content::{ContentBlock, DiffBlock};
use lapidary::vocab::event::ToolKind;

/// How many characters a title or a description may have.
const LONGEST_TITLE: usize = 200;

/// How long the description of an `always` answer may be, in characters.
const LONGEST_ANSWER: usize = 120;

/// How many files are named.
const MOST_PATHS: usize = 10;

/// The indentation of each row of the command or the change.
const INDENT: &str = "  ";

/// How much of it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptExtent {
    /// At most so many lines of the command or the change.
    Lines(usize),
    /// Everything.
    Whole,
}

/// A prompt, ready to be printed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShownPrompt {
    pub(super) text: String,
    /// Lines were left out.
    pub(super) is_cut: bool,
    /// The action that `always` would allow, if it can be described.
    pub(super) always: Option<String>,
}

/// The prompt for a request: a heading, then the command that is judged and granted, then the changes as the agent describes
/// them. The agent's text may be hostile, so nothing of it is obeyed, and nothing is left out.
pub(super) fn shown_prompt(
    question: &PermissionPrompt,
    extent: PromptExtent,
    options: LiveOptions,
) -> ShownPrompt {
    let mut indented = options;
    indented.size.width = options.size.width.saturating_sub(2);
    let (request, action) = (&question.request, &question.action);
    let mut text = prompt_heading(question, options);
    let mut body = PromptBody::new(extent);
    if let Some(command) = &action.command {
        body.add_rows(&approval::command_rows(&plain::reveal(command), indented));
    }
    for block in &request.content {
        if let ContentBlock::Diff(diff) = block {
            let diff = diff_text(diff);
            let diff = plain::reveal(&diff);
            let diff = match action.paths.len() {
                1 => without_file_names(&diff),
                _ => &diff,
            };
            body.add_rows(&approval::diff_rows(diff.trim_end(), indented));
        }
    }
    let input = request.tool_input.to_display();
    if body.is_empty() && input != "{}" {
        body.add_rows(&approval::text_rows(&plain::reveal(&input), indented));
    }
    text += &body.text;
    if body.left_out > 0 {
        let lines = if body.left_out == 1 { "line" } else { "lines" };
        let _ = writeln!(
            text,
            "  ({} more {lines}; `v` shows everything)",
            body.left_out
        );
    }
    let why = one_line(&question.reason);
    text += &sentence_rows("  ", &format!("Why this is asked: {why}"), options);
    if offers_only_always(question) {
        let warning = "The agent offers no single yes: if you allow it, it will not ask again.";
        text += &sentence_rows("  ", warning, options);
    }
    let always = StandingAnswer::from_policy(action).map(|answer| in_few_words(&answer));
    if let Some(always) = &always {
        text += &sentence_rows("  ", &format!("Always would allow: {always}"), options);
    }
    ShownPrompt {
        text,
        is_cut: body.left_out > 0,
        always,
    }
}

/// The kind of the action, the agent's title for it, and its files.
fn prompt_heading(question: &PermissionPrompt, options: LiveOptions) -> String {
    let (request, action) = (&question.request, &question.action);
    let title = request.title.as_ref().unwrap_or(&request.tool_name);
    let (verb, title) = (kind_verb(&request.tool_kind), one_line(&title.to_str()));
    let mut text = sentence_rows(
        "? ",
        &format!("The agent wants to {verb}: {title}"),
        options,
    );
    for path in action.paths.iter().take(MOST_PATHS) {
        let path = path_line(path);
        text += &sentence_rows("  ", &format!("file: {path}"), options);
    }
    if let Some(more @ 1..) = action.paths.len().checked_sub(MOST_PATHS) {
        let _ = writeln!(text, "  and {more} more files");
    }
    text
}

/// A sentence in as many rows as it takes.
fn sentence_rows(mark: &str, words: &str, options: LiveOptions) -> String {
    let rows = approval::sentence_rows(mark, words, options);
    let rows = rows.iter().map(|row| row.text.as_str());
    rows.flat_map(|row| [row, "\n"]).collect()
}

/// The action that `always` allows. A long command stands above already.
fn in_few_words(answer: &StandingAnswer) -> String {
    let words = one_line(&answer.to_string());
    if words.chars().count() > LONGEST_ANSWER {
        return "exactly this, and nothing else".to_owned();
    }
    words
}

fn kind_verb(kind: &ToolKind) -> &str {
    match kind {
        ToolKind::Execute => "run a command",
        ToolKind::Edit => "edit a file",
        ToolKind::Read => "read a file",
        ToolKind::Delete => "delete a file",
        ToolKind::Move => "move a file",
        ToolKind::Search => "search",
        ToolKind::Fetch => "fetch from the network",
        ToolKind::Mcp => "use an MCP tool",
        _ => "use a tool",
    }
}

fn offers_only_always(question: &PermissionPrompt) -> bool {
    let offers = |kind: &str| {
        let mut options = question.request.options.iter();
        options.any(|option| option.kind.to_str() == kind)
    };
    offers("allow_always") && !offers("allow_once")
}

/// The command and the changes, row by row.
struct PromptBody {
    text: String,
    rows_left: Option<usize>,
    left_out: usize,
}

impl PromptBody {
    fn new(extent: PromptExtent) -> Self {
        Self {
            text: String::new(),
            rows_left: match extent {
                PromptExtent::Lines(lines) => Some(lines),
                PromptExtent::Whole => None,
            },
            left_out: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.left_out == 0
    }

    /// Adds text of the agent. No row of it passes for one of ours: each begins with a bar.
    fn add_rows(&mut self, rows: &[ScreenRow]) {
        let shown = self.rows_left.unwrap_or(rows.len()).min(rows.len());
        for row in &rows[..shown] {
            self.text.extend([INDENT, &row.text, "\n"]);
        }
        self.left_out += rows.len() - shown;
        self.rows_left = self.rows_left.map(|left| left - shown);
    }
}

/// The change of a file that is to be approved, as a unified diff.
fn diff_text(diff: &DiffBlock) -> String {
    let path = diff.path.as_ref().map(Text::to_str).unwrap_or_default();
    let path = path.trim_start_matches('/'); // `a//srv/x` is no path
    let old = diff.old_text.as_ref().filter(|text| !text.is_empty());
    let new = diff.new_text.as_ref().map(Text::to_str).unwrap_or_default();
    match &diff.unified {
        Some(unified) => unified.to_string(),
        None => unified(path, old.map(Text::to_str).as_deref(), &new),
    }
}

/// The diff without its first two lines, for a prompt that has named its only file. A new file keeps them: `/dev/null` tells it.
fn without_file_names(diff: &str) -> &str {
    let hunks = diff.find("\n@@ ").map(|end| diff.split_at(end + 1));
    match hunks {
        Some((head, hunks)) if head.starts_with("--- a/") && head.lines().count() == 2 => hunks,
        _ => diff,
    }
}

/// A path on one line: of a long one its beginning and its end, where the name of the file is.
fn path_line(path: &Path) -> String {
    let clean = plain::one_line(&plain::reveal(&path.display().to_string()));
    let count = clean.chars().count();
    if count <= LONGEST_TITLE {
        return clean;
    }
    let half = LONGEST_TITLE / 2;
    let start: String = clean.chars().take(half).collect();
    let end: String = clean.chars().skip(count - half).collect();
    format!("{start}…{end}")
}

fn one_line(text: &str) -> String {
    let clean = plain::one_line(&plain::reveal(text));
    match clean.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}
