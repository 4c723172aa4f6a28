//! Terminals: a command is a call, from its start to its exit or its release, however often the agent looks at it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::content::{ContentBlock, TerminalBlock};
use lapidary_vocab::event::{ToolCallStatus, ToolCompletion, ToolInvocation, ToolKind};
use lapidary_vocab::{Body, Json, Number, Text};

use super::AcpNormalizer;
use super::line::AcpLine;
use super::requests::PendingRequest;
use super::turn;
use crate::{EventBuffer, own};

/// The method that starts a command, and the name of the tool.
pub(super) const CREATE: &str = "terminal/create";

/// How much of a terminal's output is kept: its end.
const MOST_PRINTED: usize = 1024 * 1024;

/// A terminal that is in use.
#[derive(Debug, Default)]
pub(super) struct OpenTerminal {
    id: Text,
    session: Option<Text>,
    output: Option<Text>,
    /// Its output so far, in bytes that need not be text.
    printed: Vec<u8>,
    truncated: Option<bool>,
    exit_code: Option<Number>,
    signal: Option<Text>,
    has_exited: bool,
    is_killed: bool,
}

impl OpenTerminal {
    fn take_output_result(&mut self, shown: Token<'_>) {
        if let Some(output) = own::string_token(shown.get("output")) {
            self.output = Some(own::owned_text(output));
        }
        if let Some(cut) = shown
            .get("truncated")
            .and_then(|cut| cut.if_kind(TokenKind::Bool))
        {
            self.truncated = Some(cut.as_str() == "true");
        }
        if let Some(status) = shown
            .get("exitStatus")
            .and_then(|it| it.if_kind(TokenKind::Object))
        {
            self.note_exit(status);
        }
    }

    fn note_exit(&mut self, status: Token<'_>) {
        let code = status.get("exitCode").map(SharedToken::from);
        self.exit_code = code.and_then(Number::from_token);
        self.signal = own::string_token(status.get("signal")).map(own::owned_text);
        self.has_exited = true;
    }

    fn append_output(&mut self, bytes: &[u8]) {
        self.printed.extend_from_slice(bytes);
        // Only now and then, so that moving the kept bytes does not cost more than reading new ones.
        if self.printed.len() > 2 * MOST_PRINTED {
            self.printed.drain(..self.printed.len() - MOST_PRINTED);
            self.truncated = Some(true);
        }
    }

    fn memory_size(&self) -> usize {
        let texts = [&self.session, &self.output, &self.signal];
        let texts: usize = texts.into_iter().flatten().map(Text::size).sum();
        texts + self.id.size() + self.printed.len()
    }

    /// A command that was still running when its terminal was let go did not come to its end.
    fn final_status(&self) -> ToolCallStatus {
        let is_zero = self.exit_code.as_ref().and_then(Number::u64) == Some(0);
        match (self.has_exited, is_zero, self.is_killed) {
            (true, true, _) => ToolCallStatus::Completed,
            (true, false, false) => ToolCallStatus::Failed,
            (true, false, true) | (false, ..) => ToolCallStatus::Cancelled,
        }
    }

    fn into_completion(self) -> Body {
        let status = self.final_status();
        let printed = (!self.printed.is_empty())
            .then(|| Text::from(String::from_utf8_lossy(&self.printed).into_owned()));
        let output = self.output.or(printed);
        let block = TerminalBlock {
            terminal_id: Some(self.id.clone()),
            output: output.clone(),
            truncated: self.truncated,
            exit_code: self.exit_code,
            signal: self.signal,
        };
        Body::ToolCompletion(Box::new(ToolCompletion {
            parent_call_id: None,
            call_id: self.id,
            is_error: status != ToolCallStatus::Completed,
            status,
            output: output.map(|output| Json::from(&output)),
            content: vec![ContentBlock::Terminal(block)],
            locations: Vec::new(),
            command: None,
            command_output: None,
            mutation: None,
        }))
    }
}

impl AcpNormalizer {
    /// The client answered a request about a terminal.
    pub(super) fn terminal_answered(
        &mut self,
        asked: &PendingRequest,
        result: Token<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        if asked.method == CREATE {
            let input = asked.wish.as_ref().map(|wish| wish.input.clone());
            if let Some(id) = own::string_token(result.get("terminalId")) {
                let input = input.unwrap_or_else(Json::empty_object);
                self.open_terminal(own::owned_text(id), input, current, out);
            }
            return;
        }
        let Some(mut terminal) = self.take_terminal(asked.detail.as_ref()) else {
            return;
        };
        let is_over = match asked.method.as_str() {
            "terminal/output" => {
                terminal.take_output_result(result);
                terminal.has_exited
            }
            "terminal/wait_for_exit" => {
                // Its output is usually requested next.
                terminal.note_exit(result);
                false
            }
            "terminal/kill" => {
                terminal.is_killed |= !terminal.has_exited;
                false
            }
            "terminal/release" => true,
            _ => false,
        };
        if is_over {
            self.emit_event(terminal.into_completion(), Vec::new(), current, out);
        } else {
            self.keep_terminal(terminal);
        }
    }

    /// There is no terminal: the command was refused, or could not be started. The request's id has to do for the call's.
    pub(super) fn terminal_refused(
        &mut self,
        asked: &PendingRequest,
        error: Token<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(wish) = &asked.wish else { return };
        let call_id = Text::from(format!("{CREATE}:{}", wish.request_id));
        let input = wish.input.clone();
        self.emit_event(
            terminal_invocation(call_id.clone(), input),
            Vec::new(),
            current,
            out,
        );
        let message = turn::error_text(error, current);
        let body = Body::ToolCompletion(Box::new(ToolCompletion {
            parent_call_id: None,
            call_id,
            is_error: true,
            status: ToolCallStatus::Failed,
            output: Some(Json::from(&message)),
            content: Vec::new(),
            locations: Vec::new(),
            command: None,
            command_output: None,
            mutation: None,
        }));
        self.emit_event(body, Vec::new(), current, out);
    }

    /// An agent of the next protocol tells about a terminal of its own.
    pub(super) fn terminal_update(
        &mut self,
        update: Token<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(id) = own::string_token(update.get("terminalId")) else {
            return current.complain_of_missing("terminalId", update.get("terminalId"));
        };
        let id = own::owned_text(id);
        let mut known = self.take_terminal(Some(&id));
        if known.is_none() {
            self.open_terminal(id.clone(), terminal_input(update), current, out);
            known = self.take_terminal(Some(&id));
        }
        let mut terminal = known.unwrap_or_default();
        if let Some(data) = update.get("output").and_then(|output| output.get("data")) {
            terminal.printed.clear();
            terminal.append_output(&decoded_base64(data));
        }
        terminal.take_output_result(update);
        if terminal.has_exited {
            self.emit_event(terminal.into_completion(), Vec::new(), current, out);
        } else {
            self.keep_terminal(terminal);
        }
    }

    /// A piece of a terminal's output. It is emitted as a whole, at the end.
    pub(super) fn terminal_chunk(&mut self, update: Token<'_>, current: &mut AcpLine<'_>) {
        let Some(id) = own::string_token(update.get("terminalId")) else {
            return current.complain_of_missing("terminalId", update.get("terminalId"));
        };
        "a terminal prints".clone_into(&mut current.about);
        if let Some(mut terminal) = self.take_terminal(Some(&own::owned_text(id))) {
            terminal.append_output(&update.get("data").map(decoded_base64).unwrap_or_default());
            self.keep_terminal(terminal);
        }
    }

    /// The turn is over: exited terminals will hardly be asked about again, and cancelled ones have ended.
    pub(super) fn end_terminals(
        &mut self,
        is_cancelled: bool,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let session = self.stamp.session_id.clone();
        let ends = |terminal: &OpenTerminal| {
            terminal.session == session && (terminal.has_exited || is_cancelled)
        };
        for terminal in self.terminals.close_all(ends) {
            self.emit_event(terminal.into_completion(), Vec::new(), current, out);
        }
    }

    /// The connection is over.
    pub(super) fn last_terminals(&mut self, out: &mut EventBuffer) {
        for terminal in self.terminals.close_all(|terminal| terminal.has_exited) {
            let session = terminal.session.clone();
            let now = std::mem::replace(&mut self.stamp.session_id, session);
            out.push(self.stamp.next_event(terminal.into_completion(), &mut None));
            self.stamp.session_id = now;
        }
    }

    fn open_terminal(
        &mut self,
        id: Text,
        input: Json,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        self.emit_event(
            terminal_invocation(id.clone(), input),
            Vec::new(),
            current,
            out,
        );
        let session = self.stamp.session_id.clone();
        self.keep_terminal(OpenTerminal {
            id,
            session,
            ..OpenTerminal::default()
        });
    }

    fn take_terminal(&mut self, id: Option<&Text>) -> Option<OpenTerminal> {
        self.terminals.close_id(&id?.to_str())
    }

    fn keep_terminal(&mut self, terminal: OpenTerminal) {
        let (id, size) = (terminal.id.to_str().into_owned(), terminal.memory_size());
        self.terminals.open(&id, terminal, size);
    }
}

fn terminal_invocation(call_id: Text, input: Json) -> Body {
    Body::ToolInvocation(Box::new(ToolInvocation {
        call_id,
        tool_name: Text::from(CREATE),
        kind: ToolKind::Execute,
        title: command_line(&input),
        input,
        parent_call_id: None,
        locations: Vec::new(),
        model: None,
    }))
}

/// The command line of a terminal. Of its environment only the names: values are often secrets.
pub(super) fn terminal_input(params: Token<'_>) -> Json {
    let names = params
        .get("env")
        .and_then(Token::non_null)
        .map(|env| match env.kind() {
            TokenKind::Object => Json::array(env.members().map(|(name, _)| own::owned_json(name))),
            _ => Json::array(
                env.elements()
                    .filter_map(|it| Some(own::owned_json(it.get("name")?))),
            ),
        });
    let field = |name: &'static str| {
        let value = params.get(name).and_then(Token::non_null)?;
        Some((name, own::owned_json(value)))
    };
    let plain = ["command", "args", "cwd", "outputByteLimit"];
    let members = plain.into_iter().filter_map(field);
    Json::object(members.chain(names.map(|names| ("env", names))))
}

/// The command with its arguments, for people.
pub(super) fn command_line(input: &Json) -> Option<Text> {
    let command = own::string_token(input.token().get("command"))?.string()?;
    let arguments = input
        .token()
        .get("args")
        .and_then(|it| it.if_kind(TokenKind::Array));
    let arguments = arguments.into_iter().flat_map(Token::elements);
    let words = std::iter::once(command).chain(arguments.filter_map(Token::string));
    Some(Text::from(words.collect::<Vec<_>>().join(" ")))
}

/// Bytes in Base64. Invalid Base64 gives no bytes.
fn decoded_base64(data: Token<'_>) -> Vec<u8> {
    let text = data.string().unwrap_or_default();
    STANDARD.decode(text.as_bytes()).unwrap_or_default()
}
