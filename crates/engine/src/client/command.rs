//! A command of the client, as read from its line, and the way of commands to a conversation.

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::Json;
use lapidary_vocab::command::Command;
use tokio::sync::mpsc;

/// Where commands come from.
pub(crate) type CommandReceiver = mpsc::UnboundedReceiver<ClientCommand>;

/// Sends commands to a conversation.
#[derive(Debug, Clone)]
pub struct CommandSender(mpsc::UnboundedSender<ClientCommand>);

impl CommandSender {
    pub(crate) fn new_channel() -> (Self, CommandReceiver) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// A sender whose commands are dropped: there is no agent.
    pub fn to_nobody() -> Self {
        Self(mpsc::unbounded_channel().0)
    }

    /// Sends a command. Its `command_result` follows when it is carried out; a command after the end of the conversation has
    /// none.
    pub fn give(&self, order: ClientCommand) {
        let _ = self.0.send(order);
    }
}

/// A command of the client, as read from its line.
#[derive(Debug, Clone)]
pub struct ClientCommand {
    /// The id that the client gave the command; its result repeats it.
    pub id: Option<Json>,
    /// The name of the command.
    pub name: String,
    /// The command, or the reason why the line is not one.
    pub command: Result<Command, String>,
}

impl ClientCommand {
    /// Reads a command from a line of JSON: the command's own fields, and an `id` of any kind. A line that is no command becomes
    /// a `ClientCommand` too, whose result reports the error.
    ///
    /// ```
    /// use lapidary_engine::conversation::ClientCommand;
    ///
    /// let order = ClientCommand::read(r#"{"command":"send_message","text":"hi","id":7}"#);
    /// assert_eq!((order.name.as_str(), order.id.unwrap().as_str()), ("send_message", "7"));
    /// assert!(ClientCommand::read("hi").command.is_err());
    /// ```
    pub fn read(line: &str) -> Self {
        let whole = match Token::parse(line.trim()) {
            Ok(whole) if whole.kind() == TokenKind::Object => whole,
            Ok(whole) => {
                let message = format!("{} is not a command", whole.kind().described());
                return Self::unreadable(&message);
            }
            Err(invalid) => return Self::unreadable(&format!("not valid JSON: {invalid}")),
        };
        let id = whole.get("id");
        let name = whole.get("command").and_then(Token::string);
        let command = match serde_json::from_str(line) {
            Ok(Command::Unknown(_)) => Err("unknown command".to_owned()),
            Ok(command) => Ok(command),
            Err(error) => Err(format!("it cannot be read: {error}")),
        };
        Self {
            id: id.map(|id| Json::from(SharedToken::from(id))),
            name: name.unwrap_or_default().into_owned(),
            command,
        }
    }
    /// A command that cannot be parsed.
    pub fn unreadable(message: &str) -> Self {
        Self {
            id: None,
            name: String::new(),
            command: Err(message.to_owned()),
        }
    }
}
