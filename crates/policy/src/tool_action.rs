//! From the agent's messages about a call to the action.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lapidary_json::Token;
use lapidary_vocab::event::{PermissionRequest, ToolInvocation, ToolKind};
use lapidary_vocab::{Body, Event, Json, Text};

use super::ToolAction;
use super::command::{RAW, ShellCommand};
use super::host_reach::HostReach;
use super::hosts::{CallHosts, HostSources};
use super::paths::{self, PathList};
use super::servers::McpServers;

/// Calls that are remembered. An agent that has more of them open floods us.
const MOST_CALLS: usize = 4096;

/// The arguments of the call that an event tells of or asks about, as an object: arguments that are no object stand in it as
/// `rawInput`.
pub fn arguments(event: &Event) -> Option<Json> {
    let input = match &event.body {
        Body::ToolInvocation(call) => &call.input,
        // Arguments that were derived from the shown content are judged there; they are not the agent's own.
        Body::PermissionRequest(_) if is_derived(event, "toolInput") => {
            return Some(Json::empty_object());
        }
        Body::PermissionRequest(request) => &request.tool_input,
        _ => return None,
    };
    let odd = event.base.extensions.get("acp.rawInput");
    let odd = odd.filter(|odd| !odd.token().is_null());
    Some(odd.map_or_else(|| input.clone(), |odd| Json::object([(RAW, odd.clone())])))
}

/// Whether an event says that this field of it is inferred.
fn is_derived(event: &Event, field: &str) -> bool {
    let fields = event.base.extensions.get("lapidary.derived");
    fields.is_some_and(|fields| fields.token().elements().any(|name| name.is(field)))
}

impl ToolAction {
    /// The action of a tool call. `content` is shown by the agent beside it (`acp.toolContent`), and diffs in it name files;
    /// relative paths count from `dir`, where the agent works.
    pub fn of_call(call: &ToolInvocation, content: Option<&Json>, dir: &Path) -> Self {
        AnnouncedCall::of_call(call, content, dir, &McpServers::default()).action
    }

    /// An action of this kind, of which nothing else is known.
    pub fn new(kind: ToolKind) -> Self {
        Self {
            kind,
            tool: None,
            title: None,
            command: None,
            is_unclear: false,
            paths: Vec::new(),
            possible_paths: Vec::new(),
            read_paths: Vec::new(),
            has_unseen_paths: false,
            shows_diff: false,
            hosts: CallHosts::default(),
            mcp_server: None,
        }
    }

    /// The same tool, without the files, commands and hosts of its arguments. A tool of an MCP server always has the kind `mcp`:
    /// the agent's kind does not count, because Codex calls all of them commands.
    pub(crate) fn without_arguments(&self) -> Self {
        let kind = match &self.mcp_server {
            Some(_) => ToolKind::Mcp,
            None => self.kind.clone(),
        };
        Self {
            tool: self.tool.clone(),
            title: self.title.clone(),
            mcp_server: self.mcp_server.clone(),
            ..Self::new(kind)
        }
    }

    /// The same, with the hosts that its command names, and the files from `dir`, where it runs.
    pub fn with_files_of_command(mut self, dir: &Path) -> Self {
        let mut paths = PathList::new(dir);
        if let Some(command) = &self.command {
            paths.of_command(command);
            self.hosts.of_command(command);
        }
        let paths = paths.into_call_paths();
        self.possible_paths.extend(paths.possible);
        self.read_paths.extend(paths.read);
        self.has_unseen_paths |= paths.has_unseen;
        self
    }

    /// Takes in that it may be meant from another directory than it was taken for.
    fn also_from(&mut self, before: &Path, dir: &Path) {
        for paths in [
            &mut self.paths,
            &mut self.possible_paths,
            &mut self.read_paths,
        ] {
            let relative = paths
                .iter()
                .filter_map(|path| path.strip_prefix(before).ok());
            let moved: Vec<_> = relative.map(|path| dir.join(path)).collect();
            paths.extend(moved);
        }
    }
}

/// The content of an event about a call.
#[derive(Debug, Clone)]
struct AnnouncedCall {
    action: ToolAction,
    /// The command as arguments have it, in a shape that is known: not the title of the call.
    certain: Option<String>,
}

impl AnnouncedCall {
    fn of_call(
        call: &ToolInvocation,
        content: Option<&Json>,
        dir: &Path,
        servers: &McpServers,
    ) -> Self {
        let tool = call.tool_name.to_str().into_owned();
        let title = call.title.as_ref().map(|title| title.to_str().into_owned());
        let mut paths = PathList::new(dir);
        paths.of_input(call.input.token(), &tool, &call.kind);
        paths.of_texts(&call.locations);
        paths.of_content(content);
        let command =
            ShellCommand::from_arguments(&call.kind, call.input.token(), title.as_deref());
        let is_certain = |command: &&ShellCommand| !command.is_title && !command.is_unclear;
        let certain = command.as_ref().filter(is_certain);
        let certain = certain.map(|command| command.line.clone());
        match (&command, &title) {
            (Some(command), _) => paths.of_command(&command.line),
            (None, Some(title)) => paths.of_title(title),
            (None, None) => {}
        }
        let paths = paths.into_call_paths();
        let mcp_server = servers.of_call(&tool, call.input.token());
        let reach = HostReach::from_tool(&call.kind, &tool);
        let hosts = CallHosts::from_call(HostSources {
            input: call.input.token(),
            title: title.as_deref(),
            command: command.as_ref().map(|command| command.line.as_str()),
            is_fetch: reach == HostReach::Fetches,
            may_reach: reach != HostReach::None || mcp_server.is_some(),
        });
        let action = ToolAction {
            is_unclear: command.as_ref().is_some_and(|command| command.is_unclear),
            command: command.map(|command| command.line),
            shows_diff: paths.is_edit,
            paths: paths.named,
            possible_paths: paths.possible,
            read_paths: paths.read,
            has_unseen_paths: paths.has_unseen,
            hosts,
            mcp_server,
            kind: call.kind.clone(),
            tool: Some(tool),
            title,
        };
        Self { action, certain }
    }

    /// The action of a request whose call was not announced before: then the request shows it.
    fn of_nameless(
        request: &PermissionRequest,
        event: &Event,
        dir: &Path,
        servers: &McpServers,
    ) -> Self {
        let extensions = &event.base.extensions;
        let mut call = requested_call(request);
        call.input = arguments(event).unwrap_or(call.input);
        let places = extensions.get("acp.locations").map(Json::token);
        let places = places.into_iter().flat_map(Token::elements);
        let named = places.map(|place| {
            let named = place.get("path").or_else(|| place.get("uri"));
            named.unwrap_or(place)
        });
        let paths = named.filter_map(Token::string);
        let paths = paths.map(|path| Text::from(path.into_owned()));
        call.locations.extend(paths);
        Self::of_call(&call, extensions.get("acp.toolContent"), dir, servers)
    }

    /// Adds earlier messages about the call: a call that was announced as an edit, or with a command, stays one, even if a later
    /// message gives it another kind. A later command takes the place of an earlier one.
    fn add_earlier(&mut self, before: &Self) {
        let changes = [ToolKind::Edit, ToolKind::Delete, ToolKind::Move];
        let was_edit =
            changes.contains(&before.action.kind) && before.action.kind != self.action.kind;
        let action = &mut self.action;
        action.shows_diff |= before.action.shows_diff || was_edit;
        action.hosts.add_before(&before.action.hosts);
        if before.action.kind != ToolKind::Execute || before.action.shows_diff {
            paths::add_before(&mut action.paths, &before.action.paths);
            paths::add_before(&mut action.possible_paths, &before.action.possible_paths);
            let are_too_many = [&action.paths, &action.possible_paths]
                .iter()
                .any(|paths| paths::is_too_many(paths));
            action.has_unseen_paths |= before.action.has_unseen_paths || are_too_many;
        }
        if self.certain.is_some() {
            return;
        }
        self.certain.clone_from(&before.certain);
        match (&action.command, &before.certain) {
            (Some(told), Some(certain)) => action.command = Some(format!("{told}\n{certain}")),
            (Some(_), None) => {}
            (None, Some(_)) => action.command.clone_from(&before.certain),
            (None, None) => {
                action.command.clone_from(&before.action.command);
                action.is_unclear = before.action.is_unclear;
            }
        }
    }
}

/// The known actions of a run. A call is announced several times, each time with more of it, and a permission request shows less
/// than the call.
#[derive(Debug, Clone)]
pub struct ToolActions {
    dir: PathBuf,
    /// Where sessions work, as far as that is known.
    places: BTreeMap<String, PathBuf>,
    /// MCP servers that were passed to the agent.
    servers: McpServers,
    /// Under their session and id.
    calls: BTreeMap<(String, String), AnnouncedCall>,
}

impl ToolActions {
    /// Nothing is known yet. Relative paths count from `dir`, where the agent works.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            places: BTreeMap::new(),
            servers: McpServers::default(),
            calls: BTreeMap::new(),
        }
    }

    /// Sets where a session works: its relative paths count from there. Paths of earlier calls may count from there too.
    pub fn works_in(&mut self, session: Option<&Text>, dir: &Path) {
        let before = self.dir_of(session).to_owned();
        let session = session.map(Text::to_string).unwrap_or_default();
        if before != dir {
            let calls = self.calls.range_mut((session.clone(), String::new())..);
            let calls = calls.take_while(|((of, _), _)| *of == session);
            calls.for_each(|(_, told)| told.action.also_from(&before, dir));
        }
        self.places.insert(session, dir.to_owned());
    }

    /// Where a session works. An unknown session works where the only known one does.
    pub fn dir_of(&self, session: Option<&Text>) -> &Path {
        if self.places.is_empty() {
            return &self.dir;
        }
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

    /// Takes in an event. Returns the action of a tool call, and of a permission request, whose call is known from an earlier
    /// event.
    pub fn note(&mut self, event: &Event) -> Option<ToolAction> {
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
                let mut told = AnnouncedCall::of_call(given, content, dir, &self.servers);
                let key = event_call_key(event, &call.call_id);
                if let Some(before) = self.calls.get(&key) {
                    told.add_earlier(before);
                }
                let action = told.action.clone();
                self.keep_call(key, told);
                Some(action)
            }
            Body::PermissionRequest(request) => {
                let call = request.tool_use_id.as_ref();
                let dir = self.dir_of(event.base.session_id.as_ref());
                let known = call.and_then(|call| self.calls.get(&event_call_key(event, call)));
                Some(match known {
                    Some(known) => known.action.clone(),
                    None => AnnouncedCall::of_nameless(request, event, dir, &self.servers).action,
                })
            }
            Body::SessionInit(init) => {
                self.servers.add_session_servers(&init.mcp_servers);
                None
            }
            Body::ToolCompletion(completion) => {
                self.calls
                    .remove(&event_call_key(event, &completion.call_id));
                None
            }
            _ => None,
        }
    }

    /// The action of a call that has not ended.
    pub fn action_for(&self, session: Option<&Text>, call: &Text) -> Option<&ToolAction> {
        let told = self.calls.get(&session_call_key(session, call));
        told.map(|told| &told.action)
    }

    fn keep_call(&mut self, key: (String, String), told: AnnouncedCall) {
        if self.calls.len() >= MOST_CALLS && !self.calls.contains_key(&key) {
            self.calls.pop_first();
        }
        self.calls.insert(key, told);
    }
}

/// The call that a request is about.
fn requested_call(request: &PermissionRequest) -> ToolInvocation {
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

fn event_call_key(event: &Event, call: &Text) -> (String, String) {
    session_call_key(event.base.session_id.as_ref(), call)
}

fn session_call_key(session: Option<&Text>, call: &Text) -> (String, String) {
    let session = session.map(|id| id.to_str().into_owned());
    (session.unwrap_or_default(), call.to_str().into_owned())
}
