//! From what an agent says about a call to what it wants to do.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use lapidary_json::{Kind, Token};
use lapidary_vocab::event::{PermissionRequest, ToolInvocation, ToolKind};
use lapidary_vocab::{Body, Event, Json, Text};

use super::Deed;
use super::paths::Paths;
use super::shell::command_line;

/// Where agents put the command.
const COMMANDS: [&str; 4] = ["command", "cmd", "script", "commandLine"];

/// What editors call what they do, in the same place.
const EDITORS_WORDS: [&str; 5] = ["view", "create", "str_replace", "insert", "undo_edit"];

/// How deep in a command of an unknown shape its words may stand. What is deeper is a word as it stands.
const DEEPEST_WORD: usize = 8;

/// Calls that are remembered. Whoever has more of them open than that floods us.
const MOST_CALLS: usize = 4096;

/// Where arguments stand that are no object.
const RAW: &str = "rawInput";

/// The arguments of the call that an event tells of or asks about, as an object: what an agent gives that is none stands in it as
/// `rawInput`.
pub fn arguments(event: &Event) -> Option<Json> {
    let input = match &event.body {
        Body::ToolInvocation(call) => &call.input,
        // What was derived from what the agent shows is judged there, and is no word of its own.
        Body::PermissionRequest(_) if event.base.extensions.contains_key("lapidary.derived") => {
            return Some(Json::empty_object());
        }
        Body::PermissionRequest(request) => &request.tool_input,
        _ => return None,
    };
    let odd = event.base.extensions.get("acp.rawInput");
    let odd = odd.filter(|odd| !odd.token().is_null());
    Some(odd.map_or_else(|| input.clone(), |odd| Json::object([(RAW, odd.clone())])))
}

impl Deed {
    /// What a call of a tool would do. `content` is what the agent shows beside it (`acp.toolContent`), in which diffs name
    /// files; relative paths count from `dir`, where the agent works.
    pub fn of_call(call: &ToolInvocation, content: Option<&Json>, dir: &Path) -> Self {
        let tool = call.tool_name.to_str().into_owned();
        let title = call.title.as_ref().map(|title| title.to_str().into_owned());
        let mut paths = Paths::new(dir);
        paths.of_input(call.input.token(), &tool, &call.kind);
        paths.of_texts(&call.locations);
        paths.of_content(content);
        Self {
            command: command_of(&call.kind, call.input.token(), title.as_deref()),
            shows_diff: paths.is_shown,
            paths: paths.all(),
            mcp_server: server_of(&tool),
            kind: call.kind.clone(),
            tool: Some(tool),
            title,
        }
    }

    /// What a request for permission is about, as far as it says. Where the call itself was heard of, [`Deeds`] knows more.
    pub fn of_request(request: &PermissionRequest, dir: &Path) -> Self {
        Self::of_call(&called(request), None, dir)
    }

    /// The same where the call in the request is told of nowhere else: then the request shows what it is about.
    fn of_nameless(request: &PermissionRequest, event: &Event, dir: &Path) -> Self {
        let extensions = &event.base.extensions;
        let mut call = called(request);
        call.input = arguments(event).unwrap_or(call.input);
        let places = extensions.get("acp.locations").map(Json::token);
        let places = places.into_iter().flat_map(Token::elements);
        let paths = places.filter_map(|place| place.get("path").unwrap_or(place).string());
        let paths = paths.map(|path| Text::from(path.into_owned()));
        call.locations.extend(paths);
        Self::of_call(&call, extensions.get("acp.toolContent"), dir)
    }

    /// Takes in what was shown before: content that comes piece by piece is added to.
    fn also(&mut self, before: &Self) {
        self.shows_diff |= before.shows_diff;
        let own: HashSet<_> = self.paths.iter().cloned().collect();
        let others = before.paths.iter().filter(|path| !own.contains(*path));
        self.paths.extend(others.cloned());
    }

    /// Takes in that it may be meant from another directory than it was taken for.
    fn also_from(&mut self, before: &Path, dir: &Path) {
        let relative = self
            .paths
            .iter()
            .filter_map(|path| path.strip_prefix(before).ok());
        let moved: Vec<_> = relative.map(|path| dir.join(path)).collect();
        self.paths.extend(moved);
    }
}

/// What is known about the calls of a run. A call is told of several times, each time with more of it, and a request for
/// permission says less than the call.
#[derive(Debug, Clone)]
pub struct Deeds {
    dir: PathBuf,
    /// Where sessions work, as far as that is known.
    places: BTreeMap<String, PathBuf>,
    /// Under their session and id.
    calls: BTreeMap<(String, String), Deed>,
}

impl Deeds {
    /// Nothing is known yet. Relative paths count from `dir`, where the agent works.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            places: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }

    /// Says where a session works: its relative paths count from there. What was said in it before may be meant from there too.
    pub fn works_in(&mut self, session: Option<&Text>, dir: &Path) {
        let before = self.dir_of(session).to_owned();
        let session = session.map(Text::to_string).unwrap_or_default();
        if before != dir {
            let calls = self.calls.range_mut((session.clone(), String::new())..);
            let calls = calls.take_while(|((of, _), _)| *of == session);
            calls.for_each(|(_, deed)| deed.also_from(&before, dir));
        }
        self.places.insert(session, dir.to_owned());
    }

    /// Where a session works. One that nobody has heard of works where the only one does that somebody has.
    pub fn dir_of(&self, session: Option<&Text>) -> &Path {
        let session = session.map(Text::to_str).unwrap_or_default();
        let only = || {
            self.places
                .values()
                .next()
                .filter(|_| self.places.len() == 1)
        };
        let known = self.places.get(session.as_ref());
        known.or_else(only).unwrap_or(&self.dir)
    }

    /// Takes in an event, and says what the agent wants to do if it is about that: for a call, and for a request for permission,
    /// whose call is known from an earlier event.
    pub fn note(&mut self, event: &Event) -> Option<Deed> {
        match &event.body {
            Body::ToolInvocation(call) => {
                let extensions = &event.base.extensions;
                let piece = extensions.get("acp.toolContentChunk");
                let content = extensions.get("acp.toolContent").or(piece);
                let odd = extensions
                    .get("acp.rawInput")
                    .and_then(|_| arguments(event));
                let odd = odd.map(|input| ToolInvocation {
                    input,
                    ..(**call).clone()
                });
                let given = odd.as_ref().unwrap_or(call);
                let dir = self.dir_of(event.base.session_id.as_ref());
                let mut deed = Deed::of_call(given, content, dir);
                let key = key(event, &call.call_id);
                if let Some(known) = self.calls.get(&key).filter(|_| piece.is_some()) {
                    deed.also(known);
                }
                self.keep(key, deed.clone());
                Some(deed)
            }
            Body::PermissionRequest(request) => {
                let call = request.tool_use_id.as_ref();
                let dir = self.dir_of(event.base.session_id.as_ref());
                let known = call.and_then(|call| self.calls.get(&key(event, call)));
                Some(match known {
                    Some(known) => known.clone(),
                    None => Deed::of_nameless(request, event, dir),
                })
            }
            Body::ToolCompletion(completion) => {
                self.calls.remove(&key(event, &completion.call_id));
                None
            }
            _ => None,
        }
    }

    /// What is known about a call that has not ended.
    pub fn of(&self, session: Option<&Text>, call: &Text) -> Option<&Deed> {
        self.calls.get(&named(session, call))
    }

    fn keep(&mut self, key: (String, String), deed: Deed) {
        if self.calls.len() >= MOST_CALLS && !self.calls.contains_key(&key) {
            self.calls.pop_first();
        }
        self.calls.insert(key, deed);
    }
}

/// The call that a request is about.
fn called(request: &PermissionRequest) -> ToolInvocation {
    ToolInvocation {
        call_id: request.tool_use_id.clone().unwrap_or_default(),
        tool_name: request.tool_name.clone(),
        kind: request.tool_kind.clone(),
        input: request.tool_input.clone(),
        parent_call_id: None,
        title: request.title.clone(),
        locations: request.blocked_path.iter().cloned().collect(),
        model: None,
    }
}

fn key(event: &Event, call: &Text) -> (String, String) {
    named(event.base.session_id.as_ref(), call)
}

fn named(session: Option<&Text>, call: &Text) -> (String, String) {
    let session = session.map(Text::to_string).unwrap_or_default();
    (session, call.to_string())
}

/// The command of a call. Whoever is given one may run it, whatever sort of tool it says it is; of several, each is looked at.
fn command_of(kind: &ToolKind, input: Token<'_>, title: Option<&str>) -> Option<String> {
    let given = COMMANDS
        .iter()
        .filter_map(|name| line_of(input, input.get(name)?));
    let mut lines: Vec<String> = given
        .filter(|line| !is_editors(kind, input, line))
        .collect();
    lines.retain(|line| !line.trim().is_empty()); // the title may say more
    lines.dedup();
    if lines.is_empty() && *kind == ToolKind::Execute {
        let raw = input.get(RAW).and_then(|raw| line_of(raw, raw));
        lines.extend(raw.filter(|line| !line.trim().is_empty()));
    }
    match kind {
        // Gemini sends no input over ACP: the title is the command.
        ToolKind::Execute if lines.is_empty() => title.map(str::to_owned),
        _ if lines.is_empty() => None,
        _ => Some(lines.join("\n")),
    }
}

/// An editor's `command` is `view` or `create`, and nothing to worry about.
fn is_editors(kind: &ToolKind, input: Token<'_>, line: &str) -> bool {
    matches!(kind, ToolKind::Read | ToolKind::Edit)
        && EDITORS_WORDS.contains(&line)
        && input.get("path").is_some()
}

fn line_of(input: Token<'_>, command: Token<'_>) -> Option<String> {
    if command.kind() == Kind::Array {
        return words_of(command).map(|words| line_of_words(&words));
    }
    if command.kind() == Kind::Object {
        return unknown(command);
    }
    let program = command.string()?.into_owned();
    let args = input.get("args").and_then(Token::non_null);
    Some(match args.map(|args| (args, words_of(args))) {
        Some((_, Some(args))) if !args.is_empty() => {
            command_line(&program, args.iter().map(String::as_str))
        }
        Some((args, None)) => match args.string() {
            Some(args) => format!("{program} {args}"),
            None => format!("{program} {}", args.as_str()),
        },
        // Alone it is a line as somebody typed it.
        _ => program,
    })
}

/// A command in a shape that nobody knows. No rule that allows commands is sure of the first line, and one that denies finds its words in
/// the second.
fn unknown(command: Token<'_>) -> Option<String> {
    let mut words = Vec::new();
    words_in(command, DEEPEST_WORD, &mut words);
    let is_any = command.members().next().is_some();
    is_any.then(|| format!("{}\n{}", command.as_str(), words.join(" ")))
}

/// The texts in a value, in the order in which they stand.
fn words_in(value: Token<'_>, depth: usize, words: &mut Vec<String>) {
    words.extend(value.string().map(Cow::into_owned));
    let inside = value.elements();
    for inner in inside.chain(value.members().map(|(_, inner)| inner)) {
        match depth.checked_sub(1) {
            Some(depth) => words_in(inner, depth, words),
            None => words.push(inner.as_str().to_owned()),
        }
    }
}

fn words_of(list: Token<'_>) -> Option<Vec<String>> {
    let list = list.of(Kind::Array)?;
    let words = list.elements().map(|word| match word.string() {
        Some(word) => word.into_owned(),
        None => word.as_str().to_owned(),
    });
    Some(words.collect())
}

/// Codex says `["bash", "-lc", "git diff"]`, which is `git diff` to anybody who reads it.
fn line_of_words(words: &[String]) -> String {
    match words {
        [shell, flag, script] if is_shell(shell) && matches!(flag.as_str(), "-c" | "-lc") => {
            script.clone()
        }
        [] => String::new(),
        [program, args @ ..] => command_line(program, args.iter().map(String::as_str)),
    }
}

/// One of the system's: a `./bash` is whatever somebody put there.
fn is_shell(program: &str) -> bool {
    let mut known = ["/bin/", "/usr/bin/", "/usr/local/bin/"].into_iter();
    let name = known.find_map(|dir| program.strip_prefix(dir));
    matches!(name.unwrap_or(program), "sh" | "bash" | "zsh" | "dash")
}

/// The server that a tool's name begins with, as `mcp__server__tool` or `mcp_server_tool`.
fn server_of(tool: &str) -> Option<String> {
    if let Some(rest) = tool.strip_prefix("mcp__") {
        let server = rest.split_once("__").map_or(rest, |(server, _)| server);
        return Some(server.to_owned());
    }
    let rest = ambiguous_server(tool)?;
    let server = rest.split_once('_').map_or(rest, |(server, _)| server);
    Some(server.to_owned())
}

/// What follows `mcp_` where nothing says how much of it is the server's name.
pub(super) fn ambiguous_server(tool: &str) -> Option<&str> {
    let rest = tool.strip_prefix("mcp_")?;
    (!rest.starts_with('_')).then_some(rest)
}
