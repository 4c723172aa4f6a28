# What Lapidary prints and reads, as Python types. Made from the JSON Schemas by `cargo xtask schemas`.
#
# Unions list the kinds that this version knows. A newer version may add kinds, words and keys: keep an `else` branch.

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union

# The state a session reports. Open: readers must accept words that are not listed here.
#
# - `compacting`: It shortens its history.
# - `resuming`: It continues an earlier session.
# - `interrupted`: It was interrupted.
# - `ended`: It is over.
# - `error`: It reports an error or a warning.
SessionState = Union[Literal["compacting", "resuming", "interrupted", "ended", "error"], str]

# What sort of text. Open: readers must accept words that are not listed here.
#
# - `text`: An answer.
# - `thinking`: Reasoning.
# - `plan`: A plan.
# - `error`: An error.
TextKind = Union[Literal["text", "thinking", "plan", "error"], str]

# What sort of tool. Open: readers must accept words that are not listed here.
#
# - `execute`: Runs a command.
# - `read`: Reads a file.
# - `edit`: Changes or creates a file.
# - `delete`: Deletes a file.
# - `move`: Moves a file.
# - `search`: Looks for files or text.
# - `fetch`: Fetches a page.
# - `browse`: Searches the web.
# - `think`: Plans, delegates, keeps notes for itself.
# - `ask`: Asks the user.
# - `memory`: Writes to the agent's memory.
# - `mcp`: Belongs to an MCP server.
# - `other`: None of these.
ToolKind = Union[Literal["execute", "read", "edit", "delete", "move", "search", "fetch", "browse", "think", "ask", "memory", "mcp", "other"], str]

# How a call of a tool ended. Open: readers must accept words that are not listed here.
#
# - `completed`: It was done.
# - `failed`: It failed.
# - `cancelled`: The call was stopped.
ToolCallStatus = Union[Literal["completed", "failed", "cancelled"], str]

# What set a compaction off. Open: readers must accept words that are not listed here.
#
# - `auto`: The agent itself.
# - `manual`: The user.
# - `cleared`: The history was cleared.
CompactionTrigger = Union[Literal["auto", "manual", "cleared"], str]

# The whole that a delta is a chunk of. Open: readers must accept words that are not listed here.
#
# - `text`: An answer.
# - `thinking`: Reasoning.
# - `toolInput`: A tool's arguments.
# - `messageStart`: A message begins.
# - `messageStop`: A message is over.
# - `blockStart`: A block begins.
# - `blockStop`: A block is over.
StreamDeltaKind = Union[Literal["text", "thinking", "toolInput", "messageStart", "messageStop", "blockStart", "blockStop"], str]

# How a run ended, in one word. Open: readers must accept words that are not listed here.
#
# - `completed`: The agent did its turn and said so.
# - `refused`: The model or a policy refused.
# - `cancelled`: The run was stopped.
# - `failed`: Any other failure: see the cause.
Outcome = Union[Literal["completed", "refused", "cancelled", "failed"], str]

# Why a run ended as it did. Open: readers must accept words that are not listed here.
#
# - `end_turn`: The turn came to its end.
# - `refusal`: The model refused.
# - `permission_denied`: A policy denied an action that the run needed.
# - `cancelled_by_client`: The client cancelled.
# - `max_turns`: The limit of turns was reached.
# - `max_tokens`: The limit of tokens was reached.
# - `loop_detected`: The agent noticed that it went in circles.
# - `budget`: A budget of ours was used up, or could not be checked.
# - `schema_mismatch`: The answer does not fit the schema that the caller gave.
# - `quota_retryable`: The API's rate limit; trying again later helps.
# - `quota_terminal`: The account's quota is used up.
# - `agent_crashed`: The agent's process died.
# - `no_result`: The stream ended without a result.
# - `empty_response`: The model returned nothing.
# - `protocol_error`: The agent broke its protocol.
# - `lease_lost`: The lease on the run ended, as in a fleet whose database was out of reach: another worker may have the ticket.
# - `timeout_start`: No first line in time.
# - `timeout_idle`: No line for too long.
# - `timeout_total`: The run as a whole took too long.
# - `bad_input`: The input was refused.
# - `bad_config`: The configuration was refused.
# - `sandbox`: The sandbox could not be set up.
# - `untrusted_folder`: The folder is not trusted.
# - `auth_required`: No account is signed in, or the key is wrong.
# - `agent_missing`: The agent is not installed.
# - `spawn_failed`: The agent could not be started.
# - `api_error`: The model's API failed.
# - `tool_fatal`: A tool failed so badly that the agent gave up.
# - `internal`: A fault of ours.
Cause = Union[Literal["end_turn", "refusal", "permission_denied", "cancelled_by_client", "max_turns", "max_tokens", "loop_detected", "budget", "schema_mismatch", "quota_retryable", "quota_terminal", "agent_crashed", "no_result", "empty_response", "protocol_error", "lease_lost", "timeout_start", "timeout_idle", "timeout_total", "bad_input", "bad_config", "sandbox", "untrusted_folder", "auth_required", "agent_missing", "spawn_failed", "api_error", "tool_fatal", "internal"], str]

# How the agent handed over data that was asked for by a schema. Open: readers must accept words that are not listed here.
#
# - `flag`: The agent has an option for schemas of its own.
# - `tool`: Through a tool whose arguments have the schema: one that Lapidary offers, or `complete_task` of our own agents.
# - `text`: As JSON in its last message.
DataSource = Union[Literal["flag", "tool", "text"], str]

# Subjects of diagnostics. Open: readers must accept words that are not listed here.
#
# - `noise`: Text amid the protocol that is not JSON.
# - `malformed_line`: A line that should be JSON but is not valid, or not an object.
# - `line_too_long`: A line longer than the limit: only its beginning was kept.
# - `unknown_type`: An event type we do not know.
# - `unknown_field`: A field we do not know. It is in `raw` and in `extensions`.
# - `invalid_field`: A value that the protocol does not allow, or a required field that is missing.
# - `duplicate_key`: A key that stands twice: the last was taken.
# - `protocol_violation`: Lines in an order that makes no sense, such as a result without its call.
# - `permission_violation`: A call that the agent made without permission.
# - `retry`: The agent was started again.
# - `notice`: A decision of ours that makes a difference, such as handing a large prompt over as a file.
# - `session_records`: Records of a session file that are not in its final state.
# - `protocol`: A message of the protocol that has no event of its own, such as a handshake. Nothing is wrong with it.
DiagnosticKind = Union[Literal["noise", "malformed_line", "line_too_long", "unknown_type", "unknown_field", "invalid_field", "duplicate_key", "protocol_violation", "permission_violation", "retry", "notice", "session_records", "protocol"], str]

# What became of a request for permission. Open: readers must accept words that are not listed here.
#
# - `allowed`: The agent may.
# - `denied`: The agent may not.
# - `cancelled`: The turn was cancelled before a decision.
PermissionOutcome = Union[Literal["allowed", "denied", "cancelled"], str]

# Who decided about a request for permission. Open: readers must accept words that are not listed here.
#
# - `rule`: A rule of the configuration or of a flag.
# - `mode`: The permission mode.
# - `hook`: A hook.
# - `default`: What holds where nothing was said.
# - `user`: A person at the terminal.
# - `peer`: The program that is connected.
DecidedBy = Union[Literal["rule", "mode", "hook", "default", "user", "peer"], str]

# The answer to an elicitation. Open: readers must accept words that are not listed here.
#
# - `accept`: The user filled the form in, or opened the page.
# - `decline`: The user, or the client for want of one, said no.
# - `cancel`: The request was given up, with its turn for example.
ElicitationAction = Union[Literal["accept", "decline", "cancel"], str]

# An agent's family. Open: readers must accept words that are not listed here.
#
# - `claude`: Claude Code.
# - `codex`: Codex CLI.
# - `gemini`: Gemini CLI.
# - `opencode`: opencode.
# - `qwen`: Qwen Code.
# - `acp`: An agent we only know by its protocol.
Provider = Union[Literal["claude", "codex", "gemini", "opencode", "qwen", "acp"], str]

# Who speaks. Open: readers must accept words that are not listed here.
#
# - `user`: The user, or the agent on the user's behalf.
# - `assistant`: The agent.
# - `system`: The system.
Role = Union[Literal["user", "assistant", "system"], str]

# Whose output it is. Open: readers must accept words that are not listed here.
#
# - `assistant`: The model's own words.
# - `command`: A command's output.
# - `mutation`: A file was changed.
# - `tool`: Any other tool's output.
OutputStream = Union[Literal["assistant", "command", "mutation", "tool"], str]

# The category of a tool, as `specs/4` has it. Open: readers must accept words that are not listed here.
#
# - `command`: Runs a command.
# - `file_read`: Reads files, lists them or looks through them.
# - `file_write`: Changes files.
# - `ask_user`: Asks the user.
# - `search_fetch`: Searches the web or fetches a page.
# - `planning`: Plans and keeps books.
Category = Union[Literal["command", "file_read", "file_write", "ask_user", "search_fetch", "planning"], str]

Files = Dict[str, None]

# What happened in an agent's run. Open: readers must accept words that are not listed here.
#
# - `TOOL_CALL_START`: The model called a tool.
# - `TOOL_CALL_END`: The tool answered.
# - `THOUGHT_CHUNK`: The model thought.
# - `ERROR`: An error occurred.
ActivityType = Union[Literal["TOOL_CALL_START", "TOOL_CALL_END", "THOUGHT_CHUNK", "ERROR"], str]

# Where a cost comes from. Open: readers must accept words that are not listed here.
#
# - `reported`: The agent reported it.
# - `prices`: Tokens times prices of a table: an estimate.
CostBasis = Union[Literal["reported", "prices"], str]

# Whether a run is over. Open: readers must accept words that are not listed here.
#
# - `running`: A process of ours is recording it.
# - `ended`: It is over, and the recording says how it ended.
# - `died`: The process that recorded it was killed: how the run ended is unknown.
# - `unreadable`: The manifest is missing, broken, or of a version that cannot be read.
RunState = Union[Literal["running", "ended", "died", "unreadable"], str]

# Why a recording goes. Open: readers must accept words that are not listed here.
#
# - `asked`: Its id was given to `runs delete`.
# - `too_old`: It is older than `runs_max_age`.
# - `too_large`: It and all newer recordings have more bytes than `runs_max_size`.
RunRemovalReason = Union[Literal["asked", "too_old", "too_large"], str]

# The state of a ticket. Open: readers must accept words that are not listed here.
#
# - `blocked`: It waits for other tickets.
# - `waiting`: It waits for a worker.
# - `running`: A worker runs it.
# - `done`: It ended.
FleetTicketState = Union[Literal["blocked", "waiting", "running", "done"], str]

# Where a program was looked for. Open: readers must accept words that are not listed here.
#
# - `variable`: By a variable of the environment that names it.
# - `path`: In a directory on PATH.
# - `common_place`: In a place where installers like to put it.
FoundBy = Union[Literal["variable", "path", "common_place"], str]

# How rules are kept with an agent. Open: readers must accept words that are not listed here.
#
# - `enforced`: The agent is told what to deny, and denies it by itself.
# - `asked`: The agent is told to ask before each call that is not allowed outright.
# - `partly`: The agent is told, but cannot be told to ask about every call: which, the layers of each kind say.
# - `watched`: The agent is told nothing: a call that it does not ask about is seen once it runs, and ends the run.
RuleKeeping = Union[Literal["enforced", "asked", "partly", "watched"], str]

# Subjects of checks. Open: readers must accept words that are not listed here.
#
# - `agent`: Whether the agent is installed, and where.
# - `node`: Whether Node is there and new enough.
# - `start`: Whether the agent can be started.
# - `version`: Which version it is.
# - `trust`: Whether the folder is trusted.
# - `auth`: Whether there is a way to sign in.
# - `settings`: Whether the agent's settings files can be read.
# - `config`: Whether our own configuration can be read.
# - `state`: Whether runs can be recorded.
# - `confinement`: Whether the kernel can confine the agent, and whether it does.
# - `rules`: Which layer holds a rule that denies each kind of action.
# - `prove_start`: Proven: a run begins.
# - `prove_streaming`: Proven: text arrives while the model still speaks.
# - `prove_tool`: Proven: a tool is called and its output seen.
# - `prove_cancel`: Proven: a run that hangs can be cancelled.
# - `prove_leftovers`: Proven: nothing of a run outlives it.
# - `prove_rules`: Proven: what rules deny is not done, and what held each attempt. One for each transport.
# - `prove_servers`: Proven: whether MCP servers of a run (`--with-agents`, `--mcp-config`) reach the agent, and how. One for each transport.
# - `agents`: Which of the agents that we know are installed.
# - `acp_start`: Over ACP: it starts and answers `initialize`.
# - `acp_abilities`: Over ACP: the abilities that it announces.
# - `acp_session`: Over ACP: a session is opened without an account.
# - `acp_modes`: Over ACP: the modes that a session offers.
# - `acp_options`: Over ACP: the options and models that a session offers.
# - `acp_turn`: Over ACP: a turn with a mock model.
# - `acp_permission`: Over ACP: whether it asks before it runs a shell command.
# - `acp_usage`: Over ACP: where it tells how many tokens were used.
# - `acp_cancel`: Over ACP: a turn is cancelled.
# - `acp_unknown`: Over ACP: its answer to an unknown method.
# - `acp_shutdown`: Over ACP: the step that made it end.
# - `acp_leftovers`: Over ACP: nothing of it is left running.
# - `acp_stdout`: Over ACP: whether its stdout holds nothing but messages.
CheckName = Union[Literal["agent", "node", "start", "version", "trust", "auth", "settings", "config", "state", "confinement", "rules", "prove_start", "prove_streaming", "prove_tool", "prove_cancel", "prove_leftovers", "prove_rules", "prove_servers", "agents", "acp_start", "acp_abilities", "acp_session", "acp_modes", "acp_options", "acp_turn", "acp_permission", "acp_usage", "acp_cancel", "acp_unknown", "acp_shutdown", "acp_leftovers", "acp_stdout"], str]

# The result of a check. Open: readers must accept words that are not listed here.
#
# - `ok`: All is well.
# - `warning`: It works, but not as it should, or the result is unclear.
# - `problem`: Runs will fail.
# - `skipped`: It was not looked at, because an earlier check failed.
# - `unproven`: It cannot be shown on this machine, which says nothing against the agent.
CheckState = Union[Literal["ok", "warning", "problem", "skipped", "unproven"], str]

# What held an attempt that a rule denied. Open: readers must accept words that are not listed here.
#
# - `question`: The agent asked, and Lapidary denied.
# - `agent`: The agent had offered its model the tool, and refused the call.
# - `no_tool`: The agent did not offer its model a tool for it.
# - `watch`: Nothing held it, but Lapidary saw it run: a run with this rule would have been stopped.
# - `nothing`: Nothing held it: its effect was seen, and no call told of it.
# - `not_started`: A run with the rule does not start, because the agent cannot be told of it.
# - `not_attempted`: The turn ended before the model made the attempt.
DenialHolder = Union[Literal["question", "agent", "no_tool", "watch", "nothing", "not_started", "not_attempted"], str]

# How MCP servers of a run reach an agent. Open: readers must accept words that are not listed here.
#
# - `session_new`: As parameters of the session (`session/new`).
# - `settings_layer`: Through a settings file of the run.
# - `unreached`: Not at all: the agent starts no server of a run.
ServerReach = Union[Literal["session_new", "settings_layer", "unreached"], str]

# The steps that can make an agent end. Open: readers must accept words that are not listed here.
#
# - `eof`: Its stdin was closed.
# - `term`: It was asked to, by SIGTERM.
# - `kill`: It was killed.
# - `itself`: It had ended before.
ShutdownBy = Union[Literal["eof", "term", "kill", "itself"], str]

# What becomes of a call. Open: readers must accept words that are not listed here.
#
# - `allow`: It may be done.
# - `deny`: It may not.
# - `ask`: A person or a program has to be asked.
PolicyEffect = Union[Literal["allow", "deny", "ask"], str]

# What stops a call that is not allowed. Open: readers must accept words that are not listed here.
#
# - `agent_policy`: The agent's own policy, made of the rules, denies it.
# - `asked`: The agent is told to ask, and the answer is no.
# - `watched`: The agent does not ask: the run is stopped once the call is seen to run.
# - `confinement`: The kernel, if the run is confined: it writes outside the workspace.
StoppedBy = Union[Literal["agent_policy", "asked", "watched", "confinement"], str]

# What became of a call in a past run. Open: readers must accept words that are not listed here.
#
# - `completed`: It was done.
# - `failed`: It was tried, and failed.
# - `cancelled`: It was stopped.
# - `denied`: It was refused.
# - `unknown`: The recording does not tell.
Happened = Union[Literal["completed", "failed", "cancelled", "denied", "unknown"], str]

# Where a session is that Gemini CLI does not list. Open: readers must accept words that are not listed here.
#
# - `vault`: In the vault only: its file is gone. `lapidary sessions recover` brings it back.
# - `older_directory`: In the directory of an older version, beside the one that the CLI uses. `lapidary sessions resume` copies it there.
# - `recording`: In a recording of ours: the agent left no session file that Lapidary knows. `lapidary runs show` shows the run.
UnlistedPlace = Union[Literal["vault", "older_directory", "recording"], str]

# Why a file is not in the list of sessions. Open: readers must accept words that are not listed here.
#
# - `unreadable`: It cannot be read.
# - `empty`: It is empty.
# - `not_a_session`: It names no session.
# - `no_content`: It has no message that could be resumed.
# - `subagent`: A sub-agent wrote it.
# - `duplicate`: Another file of the same session is newer.
# - `not_a_file`: It is a directory, a pipe or a device.
# - `link_outside`: It is a link to a place outside.
# - `too_large`: It is too large to be read.
HiddenReason = Union[Literal["unreadable", "empty", "not_a_session", "no_content", "subagent", "duplicate", "not_a_file", "link_outside", "too_large"], str]

# Why a session goes. Open: readers must accept words that are not listed here.
#
# - `asked`: The user named it.
# - `too_old`: Nothing was added to it for longer than `maxAge`.
# - `too_many`: There are more than `maxCount` that are newer.
# - `no_content`: There is nothing in it that could be resumed.
# - `not_a_session`: It is a file that names no session.
# - `empty`: It is an empty file.
# - `subagent`: A sub-agent wrote it, and it lies where no list shows it.
RemovalReason = Union[Literal["asked", "too_old", "too_many", "no_content", "not_a_session", "empty", "subagent"], str]

# Ways in which a file is restored. Open: readers must accept words that are not listed here.
#
# - `written`: It was gone, and is back under its name.
# - `already_there`: It had never gone.
# - `beside`: Another content has its name now: it lies next to it.
RestoredHow = Union[Literal["written", "already_there", "beside"], str]

# Where skills are found, the weakest first. Open: readers must accept words that are not listed here.
#
# - `builtin`: With Gemini CLI.
# - `extension`: In an extension.
# - `user`: In `~/.gemini/skills`.
# - `user_agents`: In `~/.agents/skills`.
# - `workspace`: In the workspace's `.gemini/skills`.
# - `workspace_agents`: In the workspace's `.agents/skills`.
SkillTier = Union[Literal["builtin", "extension", "user", "user_agents", "workspace", "workspace_agents"], str]

# What became of a file that could be a skill. Open: readers must accept words that are not listed here.
#
# - `loaded`: It counts.
# - `disabled`: It is on a list of disabled skills.
# - `overridden`: Another of the same name counts.
# - `left_out`: It is a skill in a place that does not count.
# - `refused`: It is where a skill should be, and is none.
# - `not_looked_for`: It has a place or a file name where Gemini CLI does not look for skills.
SkillFate = Union[Literal["loaded", "disabled", "overridden", "left_out", "refused", "not_looked_for"], str]

# How serious it is that a file is not a skill that counts. Open: readers must accept words that are not listed here.
#
# - `error`: It should be one, and is none.
# - `warning`: It may be meant so.
SkillSeverity = Union[Literal["error", "warning"], str]

# Changes to skills that a command can make. Open: readers must accept words that are not listed here.
#
# - `enable`: One was to be taken off the lists of disabled ones.
# - `disable`: One was to be put on a list of disabled ones.
# - `install`: Skills were to be copied.
# - `link`: Skills were to be linked.
# - `uninstall`: One was to be removed.
SkillAction = Union[Literal["enable", "disable", "install", "link", "uninstall"], str]

# Whose settings or skills. Open: readers must accept words that are not listed here.
#
# - `user`: The user's.
# - `workspace`: The workspace's.
SkillScope = Union[Literal["user", "workspace"], str]

# Whose settings a hook is in. Open: readers must accept words that are not listed here.
#
# - `system_defaults`: The system's defaults.
# - `user`: The user's.
# - `workspace`: The workspace's.
# - `system`: The system's, which overrule all others.
HookScope = Union[Literal["system_defaults", "user", "workspace", "system"], str]

# How bad a finding is. Open: readers must accept words that are not listed here.
#
# - `error`: A hook's behaviour differs from its definition.
# - `warning`: It may not.
# - `note`: It does, with an effect that may be unexpected.
HookSeverity = Union[Literal["error", "warning", "note"], str]

# The requested change. Open: readers must accept words that are not listed here.
#
# - `enable`: A hook was to be enabled.
# - `disable`: A hook was to be disabled.
# - `migrate`: Hooks of another agent were to be added.
HookAction = Union[Literal["enable", "disable", "migrate"], str]

# How hooks of a plan follow one another. Open: readers must accept words that are not listed here.
#
# - `parallel`: All at once.
# - `sequential`: One after the other.
HookOrder = Union[Literal["parallel", "sequential"], str]

# How a hook's answer was read. Open: readers must accept words that are not listed here.
#
# - `json`: As JSON.
# - `text`: As text, which its exit code gives a meaning.
HookFormat = Union[Literal["json", "text"], str]

# An effect of the hooks' answers. Open: readers must accept words that are not listed here.
#
# - `stop`: Everything ends here.
# - `block`: It does not happen, or is not passed on.
# - `ask`: The user is asked.
# - `replace_tool_input`: The tool gets other arguments.
# - `add_context`: Context is added for the model.
# - `run_another_tool`: Another tool runs, and its result takes the place of this one's.
# - `go_on`: The agent goes on with a prompt.
# - `forget_context`: The conversation so far is forgotten.
# - `replace_request`: The model gets another request.
# - `replace_response`: The model's answer is another one.
# - `select_tools`: The model may call certain tools.
# - `tell`: The user gets a message.
HookEffectKind = Union[Literal["stop", "block", "ask", "replace_tool_input", "add_context", "run_another_tool", "go_on", "forget_context", "replace_request", "replace_response", "select_tools", "tell"], str]

# Where an agent runs. Open: readers must accept words that are not listed here.
#
# - `local`: In this process.
# - `remote`: On another server, called over A2A.
AgentKind = Union[Literal["local", "remote"], str]

# Where a definition was found, the strongest first. Open: readers must accept words that are not listed here.
#
# - `builtin`: It comes with the program.
# - `project`: In the workspace's `.gemini/agents`.
# - `user`: In `~/.gemini/agents`.
# - `extension`: In an extension.
# - `library`: A program registered it.
AgentOrigin = Union[Literal["builtin", "project", "user", "extension", "library"], str]

# Whether a definition counts. Open: readers must accept words that are not listed here.
#
# - `active`: It counts.
# - `disabled`: Settings disable it.
# - `unacknowledged`: It was not acknowledged as it is now.
# - `untrusted`: The workspace is not trusted.
# - `inactive_extension`: Its extension is not active.
# - `duplicate`: Another definition of its name came first.
# - `incomplete`: It has no name or no description.
# - `switched_off`: A setting switches off all agents.
AgentStanding = Union[Literal["active", "disabled", "unacknowledged", "untrusted", "inactive_extension", "duplicate", "incomplete", "switched_off"], str]

# How bad a finding about an agent file is. Open: readers must accept words that are not listed here.
#
# - `error`: The agent cannot be used.
# - `warning`: The agent does not count, or not as it is written.
# - `note`: It may be meant so.
AgentFindingSeverity = Union[Literal["error", "warning", "note"], str]

# Changes to agents that a command can make. Open: readers must accept words that are not listed here.
#
# - `enable`: One was to be enabled.
# - `disable`: One was to be disabled.
# - `ack`: Agents of the workspace were to be acknowledged.
# - `import`: Files of another format were to be converted.
AgentAction = Union[Literal["enable", "disable", "ack", "import"], str]

# Whose file it is. Open: readers must accept words that are not listed here.
#
# - `user`: The user's own.
# - `project`: The project's. It cannot grant permissions.
# - `named`: The one that `--config` names.
ConfigOwner = Union[Literal["user", "project", "named"], str]

# How bad a finding is. Open: readers must accept words that are not listed here.
#
# - `error`: No run starts with this file.
# - `warning`: A part of the file is ignored.
ConfigSeverity = Union[Literal["error", "warning"], str]


class _AgentEventBase(TypedDict):
    # `<run>-<seq>`: unique where run ids are. Derived.
    id: str
    # Position in the run, from 0 without gaps. Derived.
    seq: int
    # The agent's family. Derived from the started program or the file.
    provider: Provider


class AgentEventBase(_AgentEventBase, total=False):
    """What every `AgentEvent` carries."""
    # The vocabulary and its version, `lapidary.events/1`, on the first event of a stream. Derived.
    schema: str
    # RFC 3339, UTC: the agent's own, else when the line was received, else the last one seen in the file. Upstream or derived.
    timestamp: str
    # The agent's session, once it is known. Upstream.
    sessionId: str
    # What only this provider has, under dotted keys such as `gemini.severity`. Upstream.
    extensions: Dict[str, Any]
    # True if `raw` is a string because the line was not JSON. Derived.
    rawIsText: bool
    # The line's bytes in Base64, if they were not UTF-8. Upstream.
    rawBase64: str
    # The agent's line, token for token, on the first event that a line yields. Upstream.
    raw: Any


class _SessionInit(AgentEventBase):
    event: Literal["session_init"]


class SessionInit(_SessionInit, total=False):
    """A session has begun, or a recorded one begins here."""
    # The model that was asked for; `auto` where the agent chooses. Upstream.
    model: str
    # How hard the model is asked to think. Upstream.
    reasoningEffort: str
    # The agent's working directory. Upstream over ACP; derived for Gemini CLI's stream-json, from where it was started.
    cwd: str
    # Names of the tools the model may call. Upstream.
    availableTools: List[str]
    # MCP servers: `name`, `status`, `serverInfo`. Upstream; over ACP the names of the servers that the client passed.
    mcpServers: List[Any]
    # The permission mode in force. Upstream; `plan` of Gemini's stream is derived from how the CLI was started.
    permissionMode: str
    # The account: `email`, `organization`, `subscriptionType`, `tokenSource`, `apiKeySource`. Upstream.
    account: Any
    # Slash commands: `name`, `description`, `argumentHint`. Upstream.
    slashCommands: List[Any]
    # Models to choose from: `value`, `displayName`, `description`. Upstream.
    availableModels: List[Any]


class ConfigOptions(AgentEventBase):
    """The options a session can be configured with."""
    event: Literal["config_options"]
    # The options, as the agent describes them. Upstream.
    configOptions: List[Any]


class AvailableCommands(AgentEventBase):
    """The commands a user can give."""
    event: Literal["available_commands"]
    # The commands, as the agent describes them. Upstream.
    availableCommands: List[Any]


class SessionMode(AgentEventBase):
    """The mode a session is in."""
    event: Literal["session_mode"]
    # The current mode's id. Upstream.
    currentModeId: str
    # The modes to choose from, as the agent describes them. Upstream.
    availableModes: List[Any]


class _SessionStatus(AgentEventBase):
    event: Literal["session_status"]
    # The kind of status. Derived: every `error` line of Gemini is `error`; its severity is in `extensions["gemini.severity"]`.
    status: SessionState


class SessionStatus(_SessionStatus, total=False):
    """A state of the session as a whole: an error, a warning, a change."""
    # In the agent's words. Upstream.
    message: str


class _AgentText(AgentEventBase):
    event: Literal["text"]
    # The text. Upstream; with `--deltas final` or `both` joined from its chunks.
    text: str
    # What sort of text. Derived from where it stood.
    kind: TextKind


class AgentText(_AgentText, total=False):
    """A whole piece of text."""
    # The call of a sub-agent that this belongs to. Upstream.
    parentCallId: str
    # The model that wrote it. Upstream.
    model: str


class _UserInput(AgentEventBase):
    event: Literal["user_input"]
    # The prompt as the agent took it. Upstream.
    text: str


class UserInput(_UserInput, total=False):
    """The user's prompt."""
    # Pictures: `mediaType` and `data`. Upstream.
    images: List[Any]
    # True if no person said it: context that the agent added, tool results sent back, history replayed. Derived.
    isSynthetic: bool


class _ToolInvocation(AgentEventBase):
    event: Literal["tool_invocation"]
    # The call's id; the completion carries the same. Upstream.
    callId: str
    # The tool's name. Upstream.
    toolName: str
    # What sort of tool. Derived from its name by an exact table, or the agent's own word over ACP: where that is missing,
    # `extensions["lapidary.derived"]` names this field.
    kind: ToolKind
    # The call's arguments: an object, empty if the agent sent none. Upstream.
    input: Any


class ToolInvocation(_ToolInvocation, total=False):
    """The agent calls a tool."""
    # The call of a sub-agent that this belongs to. Upstream.
    parentCallId: str
    # A title for people. Upstream.
    title: str
    # Files and folders it concerns. Derived from the arguments, or the agent's own over ACP.
    locations: List[str]
    # The model that called it. Upstream.
    model: str


class TextBlock(TypedDict):
    """Plain text."""
    type: Literal["text"]
    # The text. Upstream.
    text: str


class _ThinkingBlock(TypedDict):
    type: Literal["thinking"]
    # The thought. Upstream.
    thinking: str


class ThinkingBlock(_ThinkingBlock, total=False):
    """The model's reasoning."""
    # The provider's signature over it. Upstream.
    signature: str


class ToolUseBlock(TypedDict):
    """A call of a tool."""
    type: Literal["tool_use"]
    # The call's id. Upstream.
    id: str
    # The tool's name. Upstream in events; in messages derived: Claude's name where there is one.
    name: str
    # The call's arguments. Upstream in events; in messages derived: Claude's argument names where they differ.
    input: Any


class _ToolResultBlock(TypedDict):
    type: Literal["tool_result"]
    # The id of the call this answers. Upstream.
    tool_use_id: str


class ToolResultBlock(_ToolResultBlock, total=False):
    """The result of a call."""
    # The tool's result. Upstream.
    content: Any
    # True if the call failed or was cancelled. Derived from the call's status.
    is_error: bool


class _ImageBlock(TypedDict):
    type: Literal["image"]


class ImageBlock(_ImageBlock, total=False):
    """A picture."""
    # Anthropic's form: `type`, `media_type` and `data` or `url`. Upstream.
    source: Any
    # ACP's form: the picture in Base64. Upstream.
    data: str
    # ACP's form: its media type. Upstream.
    mimeType: str
    # ACP's form: where it lies. Upstream.
    uri: str


class _AudioBlock(TypedDict):
    type: Literal["audio"]


class AudioBlock(_AudioBlock, total=False):
    """Sound."""
    # The sound in Base64. Upstream.
    data: str
    # Its media type. Upstream.
    mimeType: str
    # Where it lies. Upstream.
    uri: str


class _ResourceBlock(TypedDict):
    type: Literal["resource"]


class ResourceBlock(_ResourceBlock, total=False):
    """An embedded resource, in ACP's nested or the flat form, whichever it came in."""
    # ACP's form: `uri` with `text` or `blob`. Upstream.
    resource: Any
    # The flat form: where it lies. Upstream.
    uri: str
    # The flat form: its name. Upstream.
    name: str
    # The flat form: its title. Upstream.
    title: str
    # The flat form: its size in bytes. Upstream.
    size: float
    # The flat form: its contents. Upstream.
    contents: Any


class _ResourceLinkBlock(TypedDict):
    type: Literal["resource_link"]
    # Where it lies. Upstream.
    uri: str


class ResourceLinkBlock(_ResourceLinkBlock, total=False):
    """A pointer to a resource."""
    # Its name. Upstream.
    name: str
    # Its media type. Upstream.
    mimeType: str


class _DiffBlock(TypedDict):
    type: Literal["diff"]


class DiffBlock(_DiffBlock, total=False):
    """A change of one file."""
    # The file. Upstream.
    path: str
    # Its text before; absent for a new file. Upstream.
    oldText: str
    # Its text after. Upstream.
    newText: str
    # The change as a unified diff, where the agent gave one. Upstream.
    unified: str


class _TerminalBlock(TypedDict):
    type: Literal["terminal"]


class TerminalBlock(_TerminalBlock, total=False):
    """A terminal and its output."""
    # The terminal's id. Upstream.
    terminalId: str
    # The terminal's output. Upstream.
    output: str
    # True if the beginning of the output was cut off. Upstream.
    truncated: bool
    # The command's exit code. Upstream.
    exitCode: float
    # The signal that ended the command. Upstream.
    signal: str


class _ToolCompletion(AgentEventBase):
    event: Literal["tool_completion"]
    # The id of the call. Upstream.
    callId: str
    # How it ended. Derived from the agent's word: `success` is completed (also for calls the user cancelled: Gemini's stream does not tell them apart), `error` is failed.
    status: ToolCallStatus


class ToolCompletion(_ToolCompletion, total=False):
    """A call of a tool has ended."""
    # The call of the main agent in which a sub-agent made it. Upstream.
    parentCallId: str
    # The result: text for display in a stream, the model's view in a session file, which also completes a stream; else the error's message. Upstream.
    output: Any
    # True if the agent reported a status other than success. Derived.
    isError: bool
    # Structured content. Upstream.
    content: List[ContentBlock]
    # Files and folders it concerned. Derived from the arguments of the call, or the agent's own over ACP.
    locations: List[str]
    # The command that was run, if the call ran one. Its output is `commandOutput`, else `output`. Derived from the arguments of the call.
    command: str
    # The command's output, where `output` holds more than that. Derived.
    commandOutput: str
    # What became of a file, in one line: `replace a.txt: completed`. Derived.
    mutation: str


class _SubagentSpawn(AgentEventBase):
    event: Literal["subagent_spawn"]
    # The call that started it. Upstream.
    callId: str


class SubagentSpawn(_SubagentSpawn, total=False):
    """A sub-agent starts."""
    # What sort of agent. Upstream.
    agentType: str
    # The sub-agent's task. Upstream.
    description: str
    # True if it continues an earlier one. Upstream.
    isResume: bool
    # The earlier one's id. Upstream.
    resumeAgentId: str


class _SubagentComplete(AgentEventBase):
    event: Literal["subagent_complete"]
    # The call that started it. Upstream.
    callId: str


class SubagentComplete(_SubagentComplete, total=False):
    """A sub-agent is done."""
    # Its id. Upstream.
    agentId: str
    # How it ended. Upstream.
    status: str
    # The sub-agent's report. Upstream.
    summary: str


class TokenUsage(TypedDict, total=False):
    """Tokens spent, as the agent counts them. A figure that it does not report is absent, never zero."""
    # Tokens of the prompt, cached ones included. Upstream, or derived as the sum over models.
    inputTokens: float
    # Tokens of the answer, without thoughts. Upstream, or derived as the sum over models.
    outputTokens: float
    # Tokens of the prompt that came from a cache. Upstream, or derived as the sum over models.
    cacheReadTokens: float
    # Tokens written to a cache. Upstream.
    cacheCreationTokens: float
    # All tokens, thoughts included. Upstream, or derived as the sum over models.
    totalTokens: float


class ModelTokenUsage(TypedDict, total=False):
    """Tokens spent on one model."""
    # Tokens of the prompt, cached ones included. Upstream.
    inputTokens: float
    # Tokens of the answer, without thoughts. Upstream.
    outputTokens: float
    # Tokens of the prompt that came from a cache. Upstream.
    cacheReadTokens: float
    # Tokens written to a cache. Upstream.
    cacheCreationTokens: float
    # All tokens, thoughts included. Upstream.
    totalTokens: float
    # The cost in US dollars. Upstream.
    costUsd: float
    # The model's context window in tokens. Upstream.
    contextWindow: float
    # Web searches made. Upstream.
    webSearchRequests: float


class _PermissionDenial(TypedDict):
    # The tool's name, or the method of the protocol, such as `fs/write_text_file`. Upstream.
    toolName: str
    # The reason, as the agent got it. Derived, or the agent's own.
    reason: str
    # True if no person could be asked. Derived; over Gemini's stream from a tool that the CLI removes where it cannot ask.
    unattended: bool


class PermissionDenial(_PermissionDenial, total=False):
    """A call that was denied."""
    # The id of the call. Upstream.
    toolUseId: str
    # The arguments of the call; absent if they are unknown, or too long to be repeated. Upstream.
    toolInput: Any
    # The call's title for people: the file or command, where the agent names no tool and sends no arguments. Upstream.
    title: str
    # The rule that denied it, named by where it stands. Derived.
    rule: str


class _TurnComplete(AgentEventBase):
    event: Literal["turn_complete"]


class TurnComplete(_TurnComplete, total=False):
    """A prompt has been answered, or has failed."""
    # True if the agent reported an error. Derived from its status or stop reason.
    isError: bool
    # The agent's own word: Gemini's `status`, ACP's stop reason. Upstream.
    subtype: str
    # What went wrong. Upstream.
    errors: List[str]
    # The answer, where the agent repeats it at the end. Upstream.
    result: str
    # The cost in US dollars. Upstream.
    costUsd: float
    # How long the turn took, in milliseconds; 0 in Gemini's error results. Upstream.
    durationMs: float
    # How long the API took, in milliseconds. Upstream, or derived as the sum over models.
    durationApiMs: float
    # Requests to the model. Upstream.
    numTurns: float
    # Tokens spent. Upstream.
    usage: TokenUsage
    # Tokens spent, by model. Upstream.
    modelUsage: Dict[str, ModelTokenUsage]
    # Calls of this turn that were denied, in order. Derived from decisions and from the errors of calls.
    permissionDenials: List[PermissionDenial]


class _ContextCompaction(AgentEventBase):
    event: Literal["context_compaction"]
    # What set it off. Upstream.
    trigger: CompactionTrigger


class ContextCompaction(_ContextCompaction, total=False):
    """The conversation was shortened."""
    # Tokens before. Upstream.
    preTokens: float
    # The rest of the quota, in words. Upstream.
    summary: str


class PermissionOption(TypedDict):
    """An answer that an agent offers to its question."""
    # The option's id, for `permission_response`. Upstream.
    id: str
    # The option in words for people. Upstream.
    name: str
    # The meaning of the option: `allow_once`, `allow_always`, `reject_once`, `reject_always`. Upstream, and open.
    kind: str


class _PermissionRequest(AgentEventBase):
    event: Literal["permission_request"]
    # The request's id, for the answer; its `permission_decision` has the same. Upstream.
    requestId: str
    # The tool's name as in its `tool_invocation`, or the method of the protocol, such as `fs/write_text_file`. Upstream.
    toolName: str
    # What sort of tool. Upstream if the agent names it (over ACP), else derived from the tool's name: then
    # `extensions["lapidary.derived"]` names this field.
    toolKind: ToolKind
    # The arguments it would be called with. Upstream; where the agent sends none, derived from the diff or the command that it shows:
    # then `extensions["lapidary.derived"]` names this field.
    toolInput: Any


class PermissionRequest(_PermissionRequest, total=False):
    """The agent asks whether it may."""
    # The id of the call. Upstream.
    toolUseId: str
    # The call's title for people. Upstream.
    title: str
    # The command line to be approved. Derived from the arguments, or from the title of a call that runs a command and has none.
    command: str
    # The agent's display of the call: the diffs to be approved, and words. Upstream.
    content: List[ContentBlock]
    # The answers that the agent offers. Upstream.
    options: List[PermissionOption]
    # Why it asks. Upstream.
    reason: str
    # The path that was in the way. Upstream.
    blockedPath: str
    # Rules it suggests: `type`, `toolName`, `directory`, `mode`, `description`. Upstream.
    suggestions: List[Any]


class _StreamDelta(AgentEventBase):
    event: Literal["stream_delta"]
    # A chunk of what. Derived from where it stood.
    kind: StreamDeltaKind


class StreamDelta(_StreamDelta, total=False):
    """A piece of a message while it is being written."""
    # The chunk of text. Upstream.
    textDelta: str
    # The chunk of a tool's arguments. Upstream.
    jsonDelta: str
    # Which block of the message it belongs to. Upstream.
    blockIndex: float
    # The call whose arguments these are. Upstream.
    callId: str
    # The call of a sub-agent that this belongs to. Upstream.
    parentCallId: str


class _UsageUpdate(AgentEventBase):
    event: Literal["usage_update"]
    # The counts, in snake case: `input_tokens`, `output_tokens`, `total_tokens` and what else the agent counts. Upstream.
    stepUsage: Any


class UsageUpdate(_UsageUpdate, total=False):
    """Tokens spent on one step."""
    # The call of the main agent in which a sub-agent spent them. Upstream.
    parentCallId: str
    # The model that was used, where the agent names it: in session files. Upstream.
    model: str


class _RateLimitUpdate(AgentEventBase):
    event: Literal["rate_limit_update"]


class RateLimitUpdate(_RateLimitUpdate, total=False):
    """How much of a rate limit is used."""
    # The main window: `usedPercent`, `windowDurationMins`, `resetsAt`. Upstream.
    primary: Any
    # A second window. Upstream.
    secondary: Any
    # Credits: `hasCredits`, `unlimited`, `balance`. Upstream.
    credits: Any
    # The account's plan. Upstream.
    planType: str


class _PermissionViolation(TypedDict):
    # The tool's name. Upstream; for a changed file `edit` or `delete`, derived.
    toolName: str
    # Why it needed permission. Derived.
    reason: str
    # What happened, in one sentence. Derived.
    message: str


class PermissionViolation(_PermissionViolation, total=False):
    """A call that the agent made without permission: it did not ask, or went on after a denial. Or a protected file that changed."""
    # The id of the call. Absent for a changed file: no call explains it. Upstream.
    toolUseId: str
    # The call's title for people. Upstream.
    title: str
    # The command line of the call, cut after 500 characters. Upstream.
    command: str
    # The files of the call, the first few of them. Upstream.
    paths: List[str]
    # The rule that denies it or requires a question, named by where it stands. Absent if the permission mode does. Derived.
    rule: str


class StructuredAnswer(TypedDict, total=False):
    """An answer, judged by its output schema: `data` if it fits, `violations` if it does not."""
    # The data, if it fits. Upstream, token for token.
    data: Any
    # How the agent handed it over. Derived.
    dataSource: DataSource
    # Where the last answer does not fit. Derived.
    violations: List[DataViolation]


class DataViolation(TypedDict):
    """A place where an answer does not fit the schema."""
    # A JSON pointer into the answer, empty for the whole answer. Derived.
    pointer: str
    # The violation in words, such as `must be string`. Derived.
    message: str


class _RunEnd(AgentEventBase):
    event: Literal["run_end"]
    # How it ended. Derived from the exit status *and* the agent's own word.
    outcome: Outcome
    # Why. Derived.
    cause: Cause
    # The exit code of `lapidary run` for this cause; in `translate` and `connect`, the one it would have. Derived.
    exitCode: int


class RunEnd(_RunEnd, total=False):
    """The run is over: exactly once, last."""
    # The agent's own exit code, if it is known. Upstream.
    agentExitCode: int
    # The signal that ended the agent. Upstream.
    signal: str
    # How long the run took, in milliseconds, if it was live. Derived.
    durationMs: float
    # What went wrong, in the agent's words if it said any. Upstream or derived.
    message: str
    # What led to this verdict. Derived.
    evidence: List[str]
    # The user's next step. Derived.
    hint: str
    # Circumstances beside the outcome, such as a turn that ended well without a last word. Derived.
    warnings: List[str]
    # Calls that the agent made without permission, in order, then protected files that it changed. Derived.
    violations: List[PermissionViolation]
    # The answer as its output schema judges it, when one was given. Derived.
    answer: StructuredAnswer


class _Diagnostic(AgentEventBase):
    event: Literal["diagnostic"]
    # What sort of thing. Derived.
    kind: DiagnosticKind
    # In words. Derived.
    message: str


class Diagnostic(_Diagnostic, total=False):
    """A line that we could not translate, or a fact for integrators of the agent. It carries its line in `raw`."""
    # How many times, if it stands for several. Derived.
    count: int


class _HookRun(AgentEventBase):
    event: Literal["hook_run"]
    # The event that set it off, such as `BeforeTool`. Upstream.
    hookEvent: str
    # The hook's name or command. Upstream.
    hook: str


class HookRun(_HookRun, total=False):
    """A hook was run."""
    # Its exit code. Upstream.
    exitCode: int
    # The signal that ended it, such as `SIGKILL`: from another process, or ours if it took too long or the run ended. Upstream.
    signal: str
    # How long it took, in milliseconds. Derived.
    durationMs: float
    # The hook's decision. Upstream.
    decision: str
    # Why. Upstream.
    reason: str
    # Its message for the user. Upstream.
    message: str
    # True if it was stopped because it took too long. Derived.
    timedOut: bool
    # Why it has no answer, if it should have one: it took too long, was killed, could not be started. Unless there is a `decision`, it
    # has blocked nothing. Derived.
    error: str


class _PermissionDecision(AgentEventBase):
    event: Literal["permission_decision"]
    # The request's id, as in its `permission_request` if it has one. Upstream.
    requestId: str
    # The subject of the request: the tool, or the method of the protocol, such as `fs/write_text_file`. Upstream.
    toolName: str
    # What sort of tool. Upstream if the agent names it (over ACP), else derived from the tool's name: then
    # `extensions["lapidary.derived"]` names this field.
    toolKind: ToolKind
    # The arguments, as in `permission_request`. Upstream or derived, as there.
    toolInput: Any
    # The decision. Derived from the answer.
    decision: PermissionOutcome


class PermissionDecision(_PermissionDecision, total=False):
    """The answer to a permission request, by a rule, a mode, a hook, a person or a program. Each request of the agent has one."""
    # The call that it is about. Upstream.
    toolUseId: str
    # The call's title for people, as in `permission_request`. Upstream.
    title: str
    # The command line that was decided about, as in `permission_request`. Derived.
    command: str
    # The agent's display of the call, as in `permission_request`. Upstream.
    content: List[ContentBlock]
    # The answers that the agent offered. Upstream.
    options: List[PermissionOption]
    # Who decided. Derived; absent where a transcript does not tell.
    decidedBy: DecidedBy
    # The rule that decided, named by where it stands. Derived.
    rule: str
    # The reason, as the agent got it. Derived.
    reason: str
    # True if a person would have been asked, but none could be. Derived.
    unattended: bool
    # True if the answer holds for the rest of the run: the same action is allowed without a question, by the rule of a later
    # decision. Derived.
    forRun: bool
    # Which of the options that the agent offered was chosen. Upstream.
    optionId: str


class _CommandResult(AgentEventBase):
    event: Literal["command_result"]
    # Which command. Upstream: the front end's.
    command: str


class CommandResult(_CommandResult, total=False):
    """A command of the front end has been carried out, or could not be. Each command has exactly one."""
    # The `id` that the command had, if it had one. Upstream: the front end's.
    commandId: Any
    # True if it could not be carried out. Derived.
    isError: bool
    # Why not. Upstream where the agent refused, otherwise derived.
    message: str
    # The agent's answer, if it gave one. Upstream.
    result: Any
    # The answer as its output schema judges it, when one was given. Derived.
    answer: StructuredAnswer


class _ElicitationRequest(AgentEventBase):
    event: Literal["elicitation_request"]
    # The request's id, for the answer. Upstream.
    requestId: str
    # `form`, `url`, or a word of the agent's own. Upstream.
    mode: str
    # The question, in words for the user. Upstream.
    message: str


class ElicitationRequest(_ElicitationRequest, total=False):
    """The agent asks the user to fill in a form, or to open a page. `elicitation_response` answers it."""
    # The form: a JSON Schema of an object whose properties are texts, numbers, booleans or lists of texts. Upstream.
    requestedSchema: Any
    # The page to open. Upstream.
    url: str
    # The agent's id of an opened page, sent again when the user is done. Upstream.
    elicitationId: str
    # The call that it is about. Upstream.
    toolUseId: str


class _ElicitationResult(AgentEventBase):
    event: Literal["elicitation_result"]
    # The request's id, as in its `elicitation_request`. Upstream.
    requestId: str
    # What became of it. Upstream.
    action: ElicitationAction


class ElicitationResult(_ElicitationResult, total=False):
    """An `elicitation_request` was answered. Each has one, unless it was withdrawn."""
    # The user's entries. Upstream.
    content: Any
    # Who answered: `peer`, or `default` where no program and no person could. Derived; absent where a transcript does not tell.
    decidedBy: DecidedBy
    # The reason, as the agent got it. Derived.
    reason: str


class _Message(TypedDict):
    # The record's id in a session file; `<run>-m<n>` from a stream. Upstream or derived.
    id: str
    # Who speaks. Derived from the record's type: `user` is the user, everything else the assistant.
    role: Role
    # The blocks in order thinking, each call with its result, text; or a plain string if there is no block. Upstream.
    content: Content
    # The agent's family. Derived.
    tool: str
    # The record this was made from; from a stream, the array of its lines. Upstream.
    _original: Any


class Message(_Message, total=False):
    """One message of a conversation."""
    # Milliseconds since 1970. Derived from the record's timestamp.
    timestamp: int
    # The model that answered, or was asked. Upstream.
    model: str
    # Tokens spent on this message, where the source says so. Upstream.
    usage: MessageUsage


class _SlashCommandBlock(TypedDict):
    type: Literal["slash_command"]
    # The command's name. Upstream.
    command: str


class SlashCommandBlock(_SlashCommandBlock, total=False):
    """A slash command the user gave."""
    # The call's arguments, as one text. Upstream.
    message: str
    # Its arguments. Upstream.
    args: str


class ImageSource(TypedDict):
    """The bytes of a picture."""
    # Always `base64` here. Derived.
    type: str
    # The media type, such as `image/png`. Upstream.
    media_type: str
    # The bytes in Base64. Upstream.
    data: str


class MessageImage(TypedDict):
    """A picture."""
    type: Literal["image"]
    # Where the picture's bytes are. Upstream.
    source: ImageSource


class MessageUsage(TypedDict, total=False):
    """Tokens spent on a message."""
    # Tokens of the whole prompt. Upstream.
    input_tokens: float
    # Tokens of the answer. Upstream.
    output_tokens: float
    # All tokens, thoughts included. Upstream.
    total_tokens: float
    # Tokens of the prompt that came from a cache. Upstream.
    cache_read_input_tokens: float


class _RuntimeEventBase(TypedDict):
    # Position in the run, from 0 without gaps. Derived.
    seq: int
    # The agent's family. Derived.
    provider: Provider
    # `<run>-turn-<n>`. Derived.
    turnId: str


class RuntimeEventBase(_RuntimeEventBase, total=False):
    """What every `RuntimeEvent` carries."""
    # The vocabulary and its version, `lapidary.runtime/1`, on the first event. Derived.
    schema: str
    # RFC 3339, UTC. Upstream, or derived as in `events`.
    timestamp: str
    # The agent's session. Upstream.
    threadId: str
    # True if `raw` is a string because the line was not JSON. Derived.
    rawIsText: bool
    # The line's bytes in Base64, if they were not UTF-8. Upstream.
    rawBase64: str
    # The line this was made from. Upstream.
    raw: Any


class _OutputProduced(RuntimeEventBase):
    event: Literal["output_produced"]
    # Whose output. Derived from the tool's category.
    stream: OutputStream
    # The output; for a file mutation a one-line summary. Upstream, or derived where `derived` says so.
    text: str
    # True if this is the whole of it, false for a chunk. Derived.
    snapshot: bool


class OutputProduced(_OutputProduced, total=False):
    """The agent, or one of its tools, produced output."""
    # True if `text` is a summary of ours. Derived.
    derived: bool
    # The command that was run. Upstream.
    command: str
    # The id of the call. Upstream.
    callId: str
    # The tool's name, if its call was seen. Upstream.
    tool: str
    # The tool's category. Derived by an exact table.
    category: Category
    # How the call ended, in the agent's word. Upstream.
    status: str
    # The call's error: `type` and `message`. Upstream.
    error: Any


class _ToolCallRequested(RuntimeEventBase):
    event: Literal["tool_call_requested"]
    # The call's id. Upstream.
    callId: str
    # The tool's name. Upstream.
    tool: str
    # The call's arguments. Upstream.
    arguments: Any


class ToolCallRequested(_ToolCallRequested, total=False):
    """The agent calls a tool."""
    # The tool's category. Derived by an exact table.
    category: Category


class _TurnDiffUpdated(RuntimeEventBase):
    event: Literal["turn_diff_updated"]
    # The unified diff. Upstream or derived from the files before and after, where the agent reports them; else derived: cut from the output of a tool.
    diff: str
    # True if it was cut from the output of a tool, so that it may be other text. Derived.
    derived: bool


class TurnDiffUpdated(_TurnDiffUpdated, total=False):
    """A unified diff was found in a tool's output."""
    # The id of the call whose change it was. Upstream.
    callId: str


class _TokenUsageUpdated(RuntimeEventBase):
    event: Literal["token_usage_updated"]


class TokenUsageUpdated(_TokenUsageUpdated, total=False):
    """Tokens spent so far."""
    # Tokens of the prompt, cached ones included. Upstream.
    totalInputTokens: float
    # Tokens of the answer. Upstream.
    totalOutputTokens: float
    # Tokens of the prompt that came from a cache. Upstream.
    totalCachedInputTokens: float
    # All tokens. Upstream; derived as input plus output where the agent gives no total.
    totalTokens: float
    # The cost in US dollars. Upstream.
    costUsd: float
    # The model's context window. Upstream.
    modelContextWindow: float


class _TurnCompleted(RuntimeEventBase):
    event: Literal["turn_completed"]
    # Always `completed`. Derived.
    status: str


class TurnCompleted(_TurnCompleted, total=False):
    """The turn came to its end."""
    # How long it took, in milliseconds. Upstream.
    durationMs: float


class _TurnError(TypedDict):
    # In words. Upstream, else the cause in words.
    message: str


class TurnError(_TurnError, total=False):
    """What went wrong in a turn."""
    # What led to this verdict. Derived.
    additionalDetails: str


class TurnFailed(RuntimeEventBase):
    """The turn failed."""
    event: Literal["turn_failed"]
    # Always `failed`. Derived.
    status: str
    # Why. Derived, as in `run_end`.
    cause: Cause
    # What went wrong. Upstream, or derived.
    error: TurnError


class TaskStatus(RuntimeEventBase):
    """The agent reported a status, a warning or an error."""
    event: Literal["task_status"]
    # `warning`, `error`, or another word of the agent's. Upstream.
    statusType: str
    # In words. Upstream.
    text: str


class _RunResult(TypedDict):
    # The vocabulary and its version, `lapidary.result/1`. Derived.
    schema: str
    # True only if the agent said so *and* nothing contradicts it. Derived.
    success: bool
    # How it ended. Derived.
    outcome: Outcome
    # Why. Derived.
    cause: Cause
    # The exit code of `lapidary run` for this cause; in `translate`, the one it would have. Derived.
    exitCode: int
    # The assistant's final message. Upstream, joined from its chunks.
    response: str
    # Every message of the assistant, in order; `response` is the last of them. Upstream, joined from their chunks.
    texts: List[str]
    # Calls that were denied, in order. Derived from decisions and from the errors of calls.
    permissionDenials: List[PermissionDenial]
    # Files the agent wrote, in order of first success; the value is always null, the content is on disk. Derived from `write_file` and `replace`.
    files: Files
    # Warnings the agent gave. Upstream.
    warnings: List[str]
    # How many lines could not be translated, by kind. Derived.
    diagnostics: Dict[str, int]


class RunResult(_RunResult, total=False):
    """The result of a run."""
    # The agent's own exit code, if it is known. Upstream.
    agentExitCode: int
    # The agent's session. Upstream.
    sessionId: str
    # How long it took, in milliseconds: the whole run if it was live, else the agent's own figure. Derived or upstream.
    durationMs: float
    # Calls that the agent made without permission, in order. Derived.
    violations: List[PermissionViolation]
    # Why the task of an agent of our own ended: `GOAL`, `MAX_TURNS`, `TIMEOUT`, `ABORTED`, `ERROR`, `ERROR_NO_COMPLETE_TASK_CALL`. Upstream.
    terminateReason: str
    # The limit that the agent ran into before it completed its task in its recovery turn. Upstream.
    recoveredFrom: str
    # The value that the agent handed over through `complete_task`. Upstream.
    output: Any
    # JSON of the answer, when it was asked for: with an output schema, data that fits it. Upstream, token for token.
    data: Any
    # How the agent handed `data` over, when an output schema was given. Derived.
    dataSource: DataSource
    # Tokens spent. Upstream.
    usage: TokenUsage
    # What went wrong. Upstream or derived.
    error: ResultError
    # The beginnings of lines that could not be translated, the first few of them. Upstream.
    diagnosticSamples: List[LineSample]


class _ResultError(TypedDict):
    # In words. Upstream, else the cause in words.
    message: str


class ResultError(_ResultError, total=False):
    """What went wrong in a run."""
    # The user's next step. Derived.
    hint: str
    # Where the last answer does not fit the output schema. Derived.
    dataViolations: List[DataViolation]


class LineSample(TypedDict):
    """The beginning of a line that could not be translated."""
    # What sort of diagnostic it was, as in `diagnostics`. Derived.
    kind: str
    # The problem, in words. Derived.
    message: str
    # The line, cut after 200 characters. Upstream, read lossily.
    line: str


class SubagentActivityEvent(TypedDict):
    """One step of an agent's run.

The keys of `data`, by `type`:

- `TOOL_CALL_START`: `name`, `displayName`, `description?`, `args`, `callId`
- `TOOL_CALL_END`: `name`, `id`, `output`, `data`
- `THOUGHT_CHUNK`: `text`
- `ERROR`: `error`, `errorType`, `context?`, `name?`, `callId?`"""
    # Always true: tells these events from others. Derived.
    isSubagentActivityEvent: bool
    # The agent. Derived.
    agentName: str
    # What happened. Derived.
    type: ActivityType
    # What there is to know about it. Upstream.
    data: Dict[str, Any]


class CommandBase(TypedDict, total=False):
    """What every `Command` carries."""
    # Identifies the command's `command_result`, which has it as its `commandId`. Upstream: the front end's.
    id: Any


class _SendMessage(CommandBase):
    command: Literal["send_message"]
    # The prompt. Upstream.
    text: str


class SendMessage(_SendMessage, total=False):
    """Gives the agent a prompt."""
    # The session it is for. Upstream.
    sessionId: str
    # Content blocks beside the text. Upstream.
    content: List[Any]
    # A JSON Schema that the answer must fit. The `command_result` has the answer's `data`, or is an error. Upstream.
    outputSchema: Any
    # How often the agent may repair an answer that does not fit; 2 if absent. Upstream.
    schemaRepairs: int


class _Steer(CommandBase):
    command: Literal["steer"]
    # The message. Upstream.
    text: str


class Steer(_Steer, total=False):
    """Gives a message to an agent that is at work: its model gets it with the results of the calls under way. Only agents of Lapidary take
one (`agentCapabilities._meta.lapidary.steering`)."""
    # The session it is for. Upstream.
    sessionId: str


class _PermissionResponse(CommandBase):
    command: Literal["permission_response"]
    # The request's id. Upstream.
    requestId: str
    # Whether it may. Upstream.
    allowed: bool


class PermissionResponse(_PermissionResponse, total=False):
    """Answers a `permission_request`."""
    # With `allowed`: true allows the same action for the rest of the run, without another `permission_request`. Upstream.
    forRun: bool
    # A word to the agent. Upstream.
    message: str
    # Other arguments than it asked for, or the chosen `optionId` over ACP. Upstream.
    updatedInput: Any
    # Rules to remember. Upstream.
    updatedPermissions: List[Any]
    # Whether to stop the turn as well. Upstream.
    interrupt: bool


class _ElicitationResponse(CommandBase):
    command: Literal["elicitation_response"]
    # The request's id. Upstream.
    requestId: str
    # `accept`, `decline` or `cancel`. Upstream.
    action: str


class ElicitationResponse(_ElicitationResponse, total=False):
    """Answers an `elicitation_request`."""
    # With `accept`: the user's entries, an object whose values are texts, numbers, booleans or lists of texts. Upstream.
    content: Any


class _Interrupt(CommandBase):
    command: Literal["interrupt"]


class Interrupt(_Interrupt, total=False):
    """Stops the turn."""
    # The session it is for. Upstream.
    sessionId: str


class _Kill(CommandBase):
    command: Literal["kill"]


class Kill(_Kill, total=False):
    """Stops the agent."""
    # The session it is for. Upstream.
    sessionId: str


class _SetModel(CommandBase):
    command: Literal["set_model"]
    # The model. Upstream.
    model: str


class SetModel(_SetModel, total=False):
    """Chooses a model."""
    # The session it is for. Upstream.
    sessionId: str


class _SetPermissionMode(CommandBase):
    command: Literal["set_permission_mode"]
    # The mode. Upstream.
    mode: str


class SetPermissionMode(_SetPermissionMode, total=False):
    """Chooses a permission mode."""
    # The session it is for. Upstream.
    sessionId: str


class _SetConfigOption(CommandBase):
    command: Literal["set_config_option"]
    # The option's id. Upstream.
    configId: str
    # Its new value. Upstream.
    value: Any


class SetConfigOption(_SetConfigOption, total=False):
    """Sets an option of the session."""
    # The session it is for. Upstream.
    sessionId: str


class _SetReasoningEffort(CommandBase):
    command: Literal["set_reasoning_effort"]
    # The effort. Upstream.
    effort: str


class SetReasoningEffort(_SetReasoningEffort, total=False):
    """Says how hard to think."""
    # The session it is for. Upstream.
    sessionId: str


class _CreateSession(CommandBase):
    command: Literal["create_session"]
    # The working directory. Upstream.
    cwd: str


class CreateSession(_CreateSession, total=False):
    """Starts a session."""
    # The first prompt. Upstream.
    prompt: str
    # Everything else, as the agent's adapter understands it. Upstream.
    options: Any


class _LoadSession(CommandBase):
    command: Literal["load_session"]
    # Which. Upstream: the agent's id.
    sessionId: str


class LoadSession(_LoadSession, total=False):
    """Opens an earlier session, and has its history said again."""
    # The working directory; where the agent was started if absent. Upstream.
    cwd: str


class _ResumeSession(CommandBase):
    command: Literal["resume_session"]
    # Which. Upstream: the agent's id.
    sessionId: str


class ResumeSession(_ResumeSession, total=False):
    """Opens an earlier session, without its history."""
    # The working directory; where the agent was started if absent. Upstream.
    cwd: str


class _ListSessions(CommandBase):
    command: Literal["list_sessions"]


class ListSessions(_ListSessions, total=False):
    """Asks for the agent's sessions. They come in the command's result, a page at a time."""
    # Only those of this directory. Upstream.
    cwd: str
    # Where the page begins: the `nextCursor` of the one before. Upstream.
    cursor: str


class CloseSession(CommandBase):
    """Ends a session, which the agent keeps."""
    command: Literal["close_session"]
    # Which. Upstream: the agent's id.
    sessionId: str


class DeleteSession(CommandBase):
    """Has the agent delete a session."""
    command: Literal["delete_session"]
    # Which. Upstream: the agent's id.
    sessionId: str


class _SetMode(CommandBase):
    command: Literal["set_mode"]
    # The mode's id, as `session_mode` lists it. Upstream.
    modeId: str


class SetMode(_SetMode, total=False):
    """Puts a session into one of the agent's own modes."""
    # The session it is for. Upstream.
    sessionId: str


class Authenticate(CommandBase):
    """Logs in by one of the methods that the agent has listed."""
    command: Literal["authenticate"]
    # The method's id. Upstream.
    methodId: str


class _Recording(TypedDict):
    # The format and its version, `lapidary.recording/1`. Derived.
    schema: str
    # The run's id. Derived.
    run: str
    # The agent's name, such as `gemini`. Derived.
    agent: str
    # The protocol that it spoke: `stream-json`, `json`, `acp`, or `unknown`. Derived.
    transport: str
    # The program and its arguments. Derived.
    argv: List[str]
    # The names of the variables in its environment. Values may be secrets and are not recorded. Derived.
    environment: List[str]
    # Where it ran. Derived.
    directory: str
    # When it was started. Derived.
    startedAt: str


class Recording(_Recording, total=False):
    """`run.json` of a recording."""
    # The program that wrote it and its version, such as `lapidary 0.1.0`. Absent in manifests of early builds, where `exitCode` is
    # the agent's. Derived.
    writer: str
    # The agent's family, as its events name it. Absent if it was no run of ours, and in recordings of early builds. Derived.
    provider: Provider
    # The effect of a denied call on the run: `auto`, `warn` or `fail`. Absent if it was no run of ours. Derived.
    onDenied: str
    # The directories that the kernel let the agent write. Absent if it was not confined, and in recordings of early builds. Derived.
    confinement: RecordedConfinement
    # Whether another attempt could have followed this one. Absent if not. Derived.
    mayRetry: bool
    # How it ended. Absent while it runs, and if we were killed. Derived.
    end: RecordedEnd


class _RecordedConfinement(TypedDict):
    # The word of `--confine`: `workspace` or `read-only`. Derived.
    mode: str
    # The directories and files that it could write, the workspace first. Derived.
    write: List[str]


class RecordedConfinement(_RecordedConfinement, total=False):
    """The limits that the kernel set to a recorded agent and to its process tree."""
    # The TCP ports that it could connect to. Absent if they were not limited. Derived.
    connect: List[int]


class _RecordedEnd(TypedDict):
    # How long it ran, in milliseconds. Derived.
    durationMs: int


class RecordedEnd(_RecordedEnd, total=False):
    """How a recorded process ended."""
    # What `lapidary run` exited with, if it was one of our runs and has been judged. Derived.
    exitCode: int
    # The exit code of the recorded process. Upstream.
    agentExitCode: int
    # The signal that ended it, such as `SIGKILL`. Upstream.
    signal: str
    # How the run ended, if it was one of ours. Derived.
    outcome: Outcome
    # Why. Derived.
    cause: Cause
    # What went wrong, if Lapidary ended the run or could not start it. Absent in recordings of earlier builds, as `hint` and
    # `remarks`. Derived.
    message: str
    # The next step. Derived.
    hint: str
    # What else led to that. Derived.
    remarks: List[str]
    # Calls that the agent made without permission, then protected files that it changed. Derived.
    violations: List[PermissionViolation]
    # The agent's session; the first, if there were several. Absent in recordings of early builds, as all that follows. Upstream.
    sessionId: str
    # The model that the agent named. Upstream.
    model: str
    # The beginning of the first prompt, at most 200 characters. Upstream.
    prompt: str
    # All tokens that the agent reported. Upstream, added up.
    totalTokens: int
    # The cost of the run in US dollars, if that is known for every turn. Upstream, or derived: see `costBasis`.
    costUsd: float
    # Where `costUsd` comes from. Derived.
    costBasis: CostBasis


class _RunList(TypedDict):
    # The vocabulary and its version, `lapidary.runs/1`. Derived.
    schema: str
    # The directory that holds the recordings. Derived.
    directory: str
    # The runs, newest first. Derived.
    runs: List[RunInfo]


class RunList(_RunList, total=False):
    """Recorded runs, newest first."""
    # How many matching runs are older than the ones that `--last` shows. Derived.
    older: int
    # The problems of recordings, a sentence each. Derived.
    warnings: List[str]


class _RunInfo(TypedDict):
    # The run's id, which is the name of its recording. Derived.
    id: str
    # Whether it is over. Derived.
    state: RunState


class RunInfo(_RunInfo, total=False):
    """A recorded run."""
    # The agent's name, such as `gemini`. Derived.
    agent: str
    # How it ended, if it was a run of ours. Derived.
    outcome: Outcome
    # Why. Derived.
    cause: Cause
    # What `lapidary run` exited with. Derived.
    exitCode: int
    # The exit code of the recorded process. Upstream.
    agentExitCode: int
    # The signal that ended it, such as `SIGKILL`. Upstream.
    signal: str
    # The agent's session, if it is known. Upstream.
    sessionId: str
    # When it was started. Derived.
    startedAt: str
    # How long it took, in milliseconds. Derived.
    durationMs: int
    # The directory that the agent worked in. Derived.
    project: str
    # The protocol that it spoke: `stream-json`, `json`, `acp`, or `unknown`. Derived.
    transport: str
    # The model that the agent named. Upstream.
    model: str
    # The beginning of the first prompt. Upstream.
    prompt: str
    # All tokens that the agent reported. Upstream, added up.
    totalTokens: int
    # The cost in US dollars, if that is known. Upstream, or derived: see `costBasis`.
    costUsd: float
    # Where `costUsd` comes from. Derived.
    costBasis: CostBasis
    # Why less is known than usual: a missing or broken `run.json`, a newer version. Derived.
    problem: str


class _RunRemoval(TypedDict):
    # The vocabulary and its version, `lapidary.runs-removal/1`. Derived.
    schema: str
    # Whether recordings were removed: false if this report is a preview. Derived.
    applied: bool
    # The recordings, newest first. Derived.
    removed: List[RemovedRun]
    # How many recordings stay. Derived.
    kept: int
    # How many bytes go. Derived.
    bytes: int


class RunRemoval(_RunRemoval, total=False):
    """Recordings that were removed, or would be."""
    # The retention that was applied; absent for runs that were named. Derived.
    retention: RunRetention
    # Files that could not be removed, a sentence each. Derived.
    failures: List[str]


class RunRetention(TypedDict, total=False):
    """How long and up to which size recordings are kept."""
    # For how many seconds; absent if for ever. Derived.
    maxAgeSeconds: int
    # How many bytes in all; absent without a limit. Derived.
    maxBytes: int


class RemovedRun(TypedDict):
    """A recording that goes."""
    # The run's id. Derived.
    id: str
    # Why it goes. Derived.
    reason: RunRemovalReason
    # When a file of it was last written. Derived.
    modifiedAt: str
    # How many bytes it has. Derived.
    bytes: int


class FleetTicketList(TypedDict):
    """Tickets, newest first."""
    # The vocabulary and its version, `lapidary.fleet-tickets/1`. Derived.
    schema: str
    # The store, without its password. Derived.
    store: str
    # The tickets, newest first. Derived.
    tickets: List[FleetTicket]


class _FleetTicket(TypedDict):
    # Its id. Derived.
    ticket: str
    # Its state. Derived.
    state: FleetTicketState
    # The beginning of its prompt. Upstream.
    title: str
    # Its priority: higher ones first. Upstream.
    priority: int
    # Not run before this time. Derived.
    notBefore: str
    # How often it was claimed. Derived.
    attempts: int
    # How many attempts there may be. Upstream.
    maxAttempts: int
    # How many attempts lost their worker. Derived.
    lost: int
    # The fencing number of its last attempt; 0 before the first. Derived.
    term: int
    # Permission requests that wait for an answer. Derived.
    openPrompts: int
    # Who submitted it. Derived.
    createdBy: str
    # When it was submitted. Derived.
    createdAt: str


class FleetTicket(_FleetTicket, total=False):
    """A ticket of a fleet."""
    # The agent that it names. Upstream.
    agent: str
    # The key under which it was submitted. Upstream.
    requestKey: str
    # The lanes in which it runs. Upstream.
    lanes: List[str]
    # Labels that its worker must have. Upstream.
    needs: List[str]
    # Tickets that it waits for. Derived.
    waitsFor: List[str]
    # The worker that runs it. Derived.
    worker: str
    # The end of the worker's lease, on the store's clock. Derived.
    leaseUntil: str
    # Who ordered its end. Derived.
    cancelledBy: str
    # The reason for that, in words. Derived.
    cancelReason: str
    # How it ended. Derived.
    outcome: Outcome
    # Why. Derived.
    cause: Cause
    # Tokens of all its attempts that ended, as far as they are known. Derived.
    totalTokens: int
    # The cost of all its attempts that ended in US dollars, as far as it is known: reported by agents, or by prices. Derived.
    costUsd: float
    # When its last attempt began. Derived.
    startedAt: str
    # When it ended. Derived.
    endedAt: str


class _FleetTicketReport(TypedDict):
    # The vocabulary and its version, `lapidary.fleet-ticket/1`. Derived.
    schema: str
    # Its id. Derived.
    ticket: str
    # Its state. Derived.
    state: FleetTicketState
    # The beginning of its prompt. Upstream.
    title: str
    # Its priority: higher ones first. Upstream.
    priority: int
    # Not run before this time. Derived.
    notBefore: str
    # How often it was claimed. Derived.
    attempts: int
    # How many attempts there may be. Upstream.
    maxAttempts: int
    # How many attempts lost their worker. Derived.
    lost: int
    # The fencing number of its last attempt; 0 before the first. Derived.
    term: int
    # Permission requests that wait for an answer. Derived.
    openPrompts: int
    # Who submitted it. Derived.
    createdBy: str
    # When it was submitted. Derived.
    createdAt: str
    # The attempts, oldest first. Derived.
    attemptList: List[FleetAttempt]


class FleetTicketReport(_FleetTicketReport, total=False):
    """A ticket with its attempts."""
    # The agent that it names. Upstream.
    agent: str
    # The key under which it was submitted. Upstream.
    requestKey: str
    # The lanes in which it runs. Upstream.
    lanes: List[str]
    # Labels that its worker must have. Upstream.
    needs: List[str]
    # Tickets that it waits for. Derived.
    waitsFor: List[str]
    # The worker that runs it. Derived.
    worker: str
    # The end of the worker's lease, on the store's clock. Derived.
    leaseUntil: str
    # Who ordered its end. Derived.
    cancelledBy: str
    # The reason for that, in words. Derived.
    cancelReason: str
    # How it ended. Derived.
    outcome: Outcome
    # Why. Derived.
    cause: Cause
    # Tokens of all its attempts that ended, as far as they are known. Derived.
    totalTokens: int
    # The cost of all its attempts that ended in US dollars, as far as it is known: reported by agents, or by prices. Derived.
    costUsd: float
    # When its last attempt began. Derived.
    startedAt: str
    # When it ended. Derived.
    endedAt: str
    # What it asks for, as it was submitted. Upstream.
    spec: Any
    # Permission requests that wait for an answer. Derived.
    prompts: List[FleetPrompt]
    # The result of the last attempt that has one (`lapidary.result/1`). Derived.
    result: Any


class _FleetAttempt(TypedDict):
    # Its number, from 1. Derived.
    attempt: int
    # Its fencing number. Derived.
    term: int
    # The id of its run. Derived.
    run: str
    # Its worker. Derived.
    worker: str
    # How many events its log has. Derived.
    events: int
    # Whether the log shows that something was touched. Derived.
    touched: bool
    # When it began. Derived.
    startedAt: str


class FleetAttempt(_FleetAttempt, total=False):
    """One attempt at a ticket."""
    # When it ended. Derived.
    endedAt: str
    # How it ended. Derived.
    outcome: Outcome
    # Why. Derived.
    cause: Cause
    # Its tokens, if they are known. Derived.
    totalTokens: int
    # Its cost in US dollars, if that is known: reported by the agent, or by prices. Derived.
    costUsd: float
    # What led to it: JSON, or a text. Derived.
    evidence: Any
    # The files that it left. Derived.
    artifacts: List[FleetArtifact]


class FleetArtifact(TypedDict):
    """A file that an attempt left."""
    # Its name. Derived.
    name: str
    # Its media type. Derived.
    mediaType: str
    # Its size. Derived.
    bytes: int
    # Its SHA-256 in hexadecimal digits. Derived.
    sha256: str


class FleetPrompt(TypedDict):
    """A permission request that waits for an answer."""
    # The run that asks. Derived.
    run: str
    # Its `requestId`. Upstream.
    requestId: str
    # The `permission_request` event. Upstream.
    event: Any
    # When it was asked. Derived.
    askedAt: str


class FleetSubmission(TypedDict, total=False):
    """One line of `fleet submit`."""
    # The ticket's id. Absent if it was refused. Derived.
    ticket: str
    # True if the ticket was there already, under the same key. Derived.
    existing: bool
    # Why it was refused. Derived.
    error: str
    # The line of a batch that this is about, from 1. Derived.
    line: int


class _FleetChange(TypedDict):
    # The vocabulary and its version, `lapidary.fleet-change/1`. Derived.
    schema: str
    # The store, without its password. Derived.
    store: str
    # What was done: `initialised`, `cancelled`, `cancel_ordered`, `retried`, `answered`, `archived`, `removed`. Derived.
    change: str


class FleetChange(_FleetChange, total=False):
    """A change of a fleet."""
    # The ticket that was changed. Derived.
    ticket: str
    # Versions of the tables that were applied. Derived.
    versions: List[int]
    # The directory that was written. Derived.
    directory: str


class _FleetOverviewReport(TypedDict):
    # The vocabulary and its version, `lapidary.fleet-overview/1`. Derived.
    schema: str
    # The store, without its password. Derived.
    store: str
    # The store's clock. Derived.
    now: str
    # Tickets that wait for other tickets. Derived.
    blocked: int
    # Tickets that wait for a worker. Derived.
    waiting: int
    # Tickets that run. Derived.
    running: int
    # Tickets that ended, counted up to 100,000. Derived.
    done: int
    # Permission requests that wait for an answer. Derived.
    openPrompts: int
    # The attempts that ended of tickets that were submitted within the last day, at most of the newest 100,000. Derived.
    lastDay: FleetUsage
    # Lanes in which a ticket runs or waits. Derived.
    lanes: List[FleetLane]
    # Workers that were seen within a day. Derived.
    workers: List[FleetWorker]


class FleetOverviewReport(_FleetOverviewReport, total=False):
    """Queue, lanes and workers of a fleet."""
    # How long the ticket that waits longest has been claimable, in milliseconds. Derived.
    oldestWaitingMs: int
    # The oldest of them, up to 100. Derived.
    prompts: List[FleetPrompt]


class FleetUsage(TypedDict, total=False):
    """Tokens and cost of several attempts, as far as they are known."""
    # The tokens. Derived.
    totalTokens: int
    # The cost in US dollars: reported by agents, or by prices. Derived.
    costUsd: float


class _FleetLane(TypedDict):
    # Its name. Upstream.
    name: str
    # How many of its tickets run. Derived.
    running: int
    # How many of its tickets wait. Derived.
    waiting: int


class FleetLane(_FleetLane, total=False):
    """A lane."""
    # How many may run. Upstream.
    limit: int


class FleetWorker(TypedDict):
    """A worker."""
    # Its id, which is new at each start. Derived.
    id: str
    # Its name. Derived.
    name: str
    # Its machine. Derived.
    host: str
    # The version of its program. Derived.
    version: str
    # Its labels. Derived.
    labels: List[str]
    # How many tickets it runs. Derived.
    running: int
    # How many it may run. Derived.
    slots: int
    # When it started. Derived.
    startedAt: str
    # Its last heartbeat. Derived.
    seenAt: str
    # Whether it claims no more tickets. Derived.
    draining: bool
    # Whether it left in order. Derived.
    left: bool


class _Capabilities(TypedDict):
    # The vocabulary and its version, `lapidary.capabilities/1`. Derived.
    schema: str
    # The agent's name, as `--agent` takes it. Derived.
    agent: str
    # True if its program was found, and for an agent with a `url`, which needs none here. Derived.
    installed: bool
    # Other places that were searched, and the problem of each. Derived.
    tried: List[TriedPlace]
    # True if a prompt may be a slash command. Derived.
    supportsSlashCommands: bool
    # True if the model can be chosen. Derived.
    supportsModels: bool
    # Models to choose from; the agent may know more. Derived.
    models: List[Model]
    # True if it can search the web. Derived.
    supportsWebSearch: bool
    # True if it tells its thoughts, in its session files at least. Derived.
    supportsThinking: bool
    # True if it reports its work while it works. Derived from the version.
    supportsStreamJson: bool
    # True if it can continue an earlier session. Derived from the version.
    supportsResume: bool
    # True if it knows a mode in which it only plans. Derived from the version.
    supportsPlanMode: bool
    # True if it speaks the Agent Client Protocol. Derived.
    supportsAcp: bool
    # The values of `--permission-mode` that it has a mode of its own for. Derived from the version.
    permissionModes: List[str]
    # How rules and permission modes are kept with it. Derived from the version.
    rules: RuleSupport
    # The same agent as a provider in a workflow. Derived.
    metadata: ProviderMetadata


class Capabilities(_Capabilities, total=False):
    """The abilities of an agent on this machine. Where no version is known, the abilities of a current one. An agent that is known only by
its protocol announces the rest when it is started: until then an ability counts as missing."""
    # The address of a remote agent, without credentials. It is not connected to find out more. Derived.
    url: str
    # The program that a run would start. Derived.
    cliPath: str
    # Where the program was looked for when it was found. Derived.
    foundBy: FoundBy
    # Its version, if its package says so; nothing is started to find out. Upstream.
    version: str
    # How one gets it: a command, or a place with instructions. Derived.
    install: str
    # Confinement by the kernel. Derived.
    confinement: AgentConfinement


class TriedPlace(TypedDict):
    """A place that was looked at in vain."""
    # The path. Derived.
    path: str
    # Why it was looked at. Derived.
    place: FoundBy
    # The problem at this place, in words. Derived.
    refused: str


class Model(TypedDict):
    """A model to choose."""
    # The agent's own name for it. Upstream.
    id: str
    # What people call it. Upstream.
    name: str


class RuleSupport(TypedDict, total=False):
    """How rules and permission modes are kept with an agent."""
    # Over ACP. Absent if it does not speak it. Derived.
    acp: RuleKeeping
    # Over stream-json. Absent if it does not have it. Derived.
    streamJson: RuleKeeping
    # Over ACP: which layer holds a denial of each kind of action. Derived.
    acpDenials: DenialLayers
    # The same over stream-json. Derived.
    streamJsonDenials: DenialLayers


class DenialLayers(TypedDict):
    """Which layer holds a rule that denies a whole kind of action."""
    # Reading files. Derived.
    read: RuleKeeping
    # Searching files. Derived.
    search: RuleKeeping
    # Changing files. Derived.
    edit: RuleKeeping
    # Removing files. Derived.
    delete: RuleKeeping
    # Moving files. Derived.
    move: RuleKeeping
    # Running commands. Derived.
    execute: RuleKeeping
    # Requests to the network. Derived.
    fetch: RuleKeeping
    # Tools of MCP servers. Derived.
    mcp: RuleKeeping


class AgentConfinement(TypedDict):
    """The directories and devices that the kernel lets an agent write."""
    # The default of `confine` in an unattended run: `workspace` or `off`. Derived.
    default: str
    # The version of Landlock's interface that the kernel has, up to the newest that is used (6); 0 if there is none. Derived.
    landlockAbi: int
    # Where the agent keeps its state, which it can write although confined. Derived.
    state: List[str]


class ProviderMetadata(TypedDict):
    """The facts about a provider that a workflow engine needs before it configures one. Keys in `snake_case`, as such engines have them."""
    # The provider's name. Derived.
    name: str
    # A description in one line. Derived.
    description: str
    # True if it does not work without a configuration. Derived.
    requires_config: bool
    # The keys that its configuration knows. Derived.
    config_keys: List[str]
    # How long a response may take, in seconds, unless configured otherwise. Derived.
    default_response_timeout: int
    # Its ways of changing files: it writes them itself. Derived.
    fs_ability: str


class _Checkup(TypedDict):
    # The vocabulary and its version, `lapidary.doctor/1`. Derived.
    schema: str
    # The agent's name, as `--agent` takes it. Derived.
    agent: str
    # True if nothing is a problem. Derived.
    healthy: bool
    # The checks, in this order. Derived.
    checks: List[Check]


class Checkup(_Checkup, total=False):
    """Everything that was looked at."""
    # The observations of an agent that speaks ACP, with `--prove`. Derived.
    card: Card


class _Check(TypedDict):
    # The subject of the check. There may be several of a name, such as one for each settings file. Derived.
    name: CheckName
    # The result of the check. Derived.
    state: CheckState
    # The same in words. Derived.
    message: str


class Check(_Check, total=False):
    """One thing that has to be right."""
    # What to do about it, if we know. Derived.
    remedy: str
    # What else is worth knowing. Derived.
    details: List[str]
    # How long it took, in milliseconds, where a program was started. Derived.
    durationMs: int
    # In `prove_rules`: the attempts that were made, and what held each. Derived.
    denials: List[ProvenDenial]
    # In `prove_servers`: how MCP servers of a run reach the agent. Derived.
    serverReach: ServerReach


class ProvenDenial(TypedDict):
    """An attempt that a rule denied."""
    # The kind of action that the rule denies. Derived.
    kind: ToolKind
    # The transport of the run, `acp` or `stream-json`. Derived.
    transport: str
    # What held the attempt. Derived.
    heldBy: DenialHolder


class _Card(TypedDict):
    # The program that was started, and its arguments. Derived.
    command: List[str]
    # How many lines of its stdout were no messages of the protocol. Derived.
    noiseLines: int


class Card(_Card, total=False):
    """An agent's card. A missing field was not observed: the check of that name says why."""
    # How long it took to answer `initialize`, in milliseconds. Derived.
    startMs: int
    # The version of the protocol that it speaks; 0 if it did not say. Upstream.
    protocolVersion: int
    # The agent's own name and version. Upstream.
    agentName: str
    # Which version of itself it says it is. Upstream.
    agentVersion: str
    # The abilities that it announces. Upstream.
    abilities: CardAbilities
    # How rules are kept with it: as it was started here. Derived.
    rules: RuleKeeping
    # The ways to log in, by their ids. Upstream.
    authMethods: List[str]
    # The result of opening a session. Derived.
    session: CardSession
    # The result of a prompt. Derived.
    turn: CardTurn
    # The result of cancelling a turn. Derived.
    cancel: CardCancel
    # The agent's answer to an unknown method. Derived.
    unknownMethod: CardUnknownMethod
    # How it ended. Derived.
    shutdown: CardShutdown


class CardAbilities(TypedDict):
    """The abilities that an agent announces beyond the protocol's minimum."""
    # `session/load`. Upstream.
    load: bool
    # `session/list`. Upstream.
    list: bool
    # `session/resume`. Upstream.
    resume: bool
    # `session/close`. Upstream.
    close: bool
    # `session/delete`. Upstream.
    delete: bool
    # Images in prompts. Upstream.
    image: bool
    # Sound in prompts. Upstream.
    audio: bool
    # Whole resources in prompts. Upstream.
    embedded: bool
    # MCP servers over HTTP. Upstream.
    mcpHttp: bool
    # MCP servers over server-sent events. Upstream.
    mcpSse: bool


class _CardSession(TypedDict):
    # True if there was one. Derived.
    opened: bool


class CardSession(_CardSession, total=False):
    """The result of opening a session without an account."""
    # The code of the error that there was instead; -32000 says that one has to log in. Upstream.
    errorCode: int
    # The mode that it is in. Upstream.
    mode: str
    # The modes that it can be in. Upstream.
    modes: List[str]
    # The options that it has, by their ids. Upstream.
    options: List[str]
    # The models to choose from, by their ids. Upstream.
    models: List[str]


class _CardTurn(TypedDict):
    # Why it ended, in the agent's word. Upstream.
    stopReason: str
    # True if the played model was asked: then its address can be set. Derived.
    modelAsked: bool
    # True if the model's text came through. Derived.
    textArrived: bool


class CardTurn(_CardTurn, total=False):
    """The result of a prompt, with a mock model."""
    # Whether a permission was asked for before a shell command, if the model could call for one. Derived.
    asksBeforeShell: bool
    # The same for a shell command that only reads. Derived.
    asksBeforeReadOnlyShell: bool
    # Where it reported how many tokens were used: `usage_update`, `usage`, `_meta.quota` or `chunk._meta.usage`. Derived.
    usageIn: List[str]


class _CardCancel(TypedDict):
    # The time from `session/cancel` to the answer, in milliseconds. Derived.
    ms: int


class CardCancel(_CardCancel, total=False):
    """The result of cancelling a turn."""
    # Why the turn ended, in the agent's word; missing if it was an error. Upstream.
    stopReason: str


class _CardUnknownMethod(TypedDict):
    # True if there was an answer. Derived.
    answered: bool
    # How long it took, or how long was waited, in milliseconds. Derived.
    ms: int


class CardUnknownMethod(_CardUnknownMethod, total=False):
    """The agent's answer to an unknown method."""
    # The code of the error, if it was one; the protocol prescribes -32601. Upstream.
    code: int


class CardShutdown(TypedDict):
    """How an agent ended."""
    # The step that it took. Derived.
    by: ShutdownBy
    # How long it took since its stdin was closed, in milliseconds. Derived.
    ms: int


class PolicyReport(TypedDict):
    """The decision about every tool call, and the use of each rule."""
    # The vocabulary and its version, `lapidary.policy/1`. Derived.
    schema: str
    # The permission mode that decides where no rule does. Derived.
    permissionMode: str
    # The calls, in the order of the recordings. Derived.
    calls: List[JudgedCall]
    # The rules, in their order. Derived.
    rules: List[RuleUse]


class _JudgedCall(TypedDict):
    # The recording that it stands in. Derived.
    recording: str
    # The call's id. Upstream.
    callId: str
    # The tool's name. Upstream.
    toolName: str
    # What sort of tool. Upstream if the agent names it (over ACP), else derived from the tool's name.
    kind: ToolKind
    # What would become of it. Derived.
    effect: PolicyEffect
    # Who would decide. Derived.
    decidedBy: DecidedBy
    # The reason, as the agent would get it. Derived.
    reason: str
    # What became of it then. Derived.
    happened: Happened


class JudgedCall(_JudgedCall, total=False):
    """A call of a past run, and what would have become of it."""
    # A title for people. Upstream.
    title: str
    # The command, if it runs one. Derived from the arguments, or the title over ACP.
    command: str
    # The files and directories that it is about. Derived from the arguments, locations and diffs.
    paths: List[str]
    # The MCP server that the tool belongs to. Derived from the tool's name.
    mcpServer: str
    # The rule that would decide, named by where it stands; several for a line of several commands. Derived.
    rule: str
    # What would stop it with the agent that was asked for, in the order of time. Empty if it would be allowed, or no agent was named.
    # Derived.
    stoppedBy: List[StoppedBy]
    # The decision at the time, if the agent asked. Derived.
    answer: RecordedAnswer


class _RecordedAnswer(TypedDict):
    # The decision. Derived.
    decision: PermissionOutcome


class RecordedAnswer(_RecordedAnswer, total=False):
    """The decision about a call of a past run."""
    # Who decided. Derived; absent where a transcript does not tell.
    decidedBy: DecidedBy
    # The rule that decided. Derived.
    rule: str
    # The reason, as the agent got it. Derived.
    reason: str
    # True if the answer held for the rest of that run. Derived.
    forRun: bool


class _RuleUse(TypedDict):
    # Where it stands. Derived.
    rule: str
    # The rule's text. Derived.
    effect: PolicyEffect
    # How many calls it is about. Derived.
    matched: int
    # About how many of them it decides. Derived.
    decided: int


class RuleUse(_RuleUse, total=False):
    """A rule, and how often it decided."""
    # The rules that decide instead, if it decides about none of the calls that it is about. Derived.
    shadowedBy: List[str]


class _CompiledPolicy(TypedDict):
    # The vocabulary and its version, `lapidary.compiled-policy/1`. Derived.
    schema: str
    # The agent's name. Derived.
    agent: str
    # How rules are kept with it. Derived.
    keeping: RuleKeeping


class CompiledPolicy(_CompiledPolicy, total=False):
    """An agent's own configuration, made from the rules: `lapidary policy compile`."""
    # Arguments of its program. Derived.
    args: List[str]
    # Variables of its environment. Derived.
    env: Dict[str, str]
    # The content of the file that arguments or variables name. Derived.
    file: str
    # `_meta` of the request that opens a session. Derived.
    sessionMeta: Any
    # Remarks for the user. Derived.
    notices: List[str]


class _SessionList(TypedDict):
    # The vocabulary and its version, `lapidary.sessions/1`. Derived.
    schema: str
    # The sessions: project by project, within a project the oldest first. Derived.
    sessions: List[SessionInfo]
    # How many files are not among them. Derived.
    hiddenCount: int


class SessionList(_SessionList, total=False):
    """What `lapidary sessions list` prints."""
    # These files, if they were asked for. Derived.
    hidden: List[HiddenFile]
    # How many files of each agent were read and skipped; agents without any are left out. Derived.
    agents: List[AgentFileCounts]
    # Other problems, a sentence each. Derived.
    warnings: List[str]


class _SessionInfo(TypedDict):
    # The session's id, whole. Upstream; of a recorded run whose agent named no session, the id of the run.
    id: str
    # The agent's family, such as `gemini` or `claude`; its name if it is none that Lapidary knows. Derived.
    provider: Provider
    # The file's name without `.json` or `.jsonl`. Upstream.
    file: str
    # The file's name. Upstream.
    fileName: str
    # Where the file is, or the directory of the recording. Derived.
    path: str
    # When it began; where the file does not say, when it was listed. Upstream.
    startTime: str
    # When the session was last updated; where the file does not say, when it was listed. Upstream.
    lastUpdated: str
    # How many records of messages the file has since its last checkpoint, as Gemini CLI counts for a list. 0 for a recording,
    # which is not read for a list. Derived.
    messageCount: int
    # How many messages of the user's among them, each counted once. Derived.
    userMessageCount: int
    # What to call it: the summary, or else the first message on one line, in its own letters. Derived.
    displayName: str
    # The first message of the user's that has content, on one line, as Gemini CLI shows it: ASCII only. Derived.
    firstUserMessage: str
    # True for the session that this was asked in: inside a hook `$GEMINI_SESSION_ID` names it. Derived.
    isCurrentSession: bool
    # Its number in the project's list, from 1, the oldest first: what `--resume N` takes. Sessions that Gemini CLI does not list
    # come after its own; sessions in the vault or in recordings only have no number, which is 0. Derived.
    index: int
    # The name of the project's directory in `.gemini/tmp`; empty where Gemini CLI has none. Upstream.
    projectId: str
    # The size of the file, or of the recorded agent's output, in bytes. Derived.
    size: int


class SessionInfo(_SessionInfo, total=False):
    """A session that could be resumed."""
    # The newest recorded run, if the session is in recordings only. Derived.
    run: str
    # Where it is, if Gemini CLI does not list it. Derived.
    unlisted: UnlistedPlace
    # The title that a model gave it. Upstream.
    summary: str
    # The project's directory, if it is known. Upstream.
    project: str
    # The name of a file without content for which Gemini CLI's next start deletes this session, if its retention is on. Derived.
    endangeredBy: str


class _HiddenFile(TypedDict):
    # Where it is. Derived.
    path: str
    # The name of the project's directory in `.gemini/tmp`. Upstream.
    projectId: str
    # Why it is not in the list. Derived.
    reason: HiddenReason
    # The same in a sentence. Derived.
    explanation: str
    # Its size in bytes. Derived.
    size: int


class HiddenFile(_HiddenFile, total=False):
    """A file among the sessions that is not in the list."""
    # The id that it names, if it does. Upstream.
    sessionId: str


class _AgentFileCounts(TypedDict):
    # Whose files: an agent, or `recordings`. Derived.
    provider: str
    # Files, or rows of a database, with a session in the list's projects, before `--agent`, `--since`, `--until` and `--last`. Derived.
    read: int
    # Files that are not listed. Derived.
    skipped: int


class AgentFileCounts(_AgentFileCounts, total=False):
    """How many files of an agent were read and skipped for a list."""
    # The skipped files by their reasons. Derived.
    reasons: Dict[str, int]


class _SearchResult(TypedDict):
    # The vocabulary and its version, `lapidary.search/1`. Derived.
    schema: str
    # How many sessions were found, shown or not. Derived.
    total: int
    # The sessions, the best first. Derived.
    hits: List[SearchHit]


class SearchResult(_SearchResult, total=False):
    """What `lapidary sessions search` prints."""
    # Other problems, a sentence each. Derived.
    warnings: List[str]


class _SearchHit(TypedDict):
    # The session's id, whole. Upstream; of a recorded run whose agent named no session, the id of the run.
    id: str
    # The agent's family, such as `gemini` or `claude`; its name if it is none that Lapidary knows. Derived.
    provider: Provider
    # What to call it: the summary, or else the first message on one line, in its own letters. Derived.
    displayName: str
    # The file's name. Upstream.
    fileName: str
    # Where the file is. Derived.
    path: str
    # When it began; where the file does not say, when it was looked for. Upstream.
    startTime: str
    # When the session was last updated; where the file does not say, when it was looked for. Upstream.
    lastUpdated: str
    # How many records of messages the file has since its last checkpoint. Derived.
    messageCount: int
    # The name of the project's directory in `.gemini/tmp`. Upstream.
    projectId: str
    # True if everything is in the title. Derived.
    isInTitle: bool
    # How many texts of the session match: prompts, answers, thoughts, inputs and outputs of tools. Derived.
    matchingTexts: int
    # Some of the places. Derived.
    matchSnippets: List[TextMatch]


class SearchHit(_SearchHit, total=False):
    """A session in which everything was found that was looked for."""
    # The newest recorded run, if the session is in recordings only. Derived.
    run: str
    # The project's directory, if it is known. Upstream.
    project: str
    # Where it is, if Gemini CLI does not list it. Derived.
    unlisted: UnlistedPlace


class _TextMatch(TypedDict):
    # The text before the match. Upstream.
    before: str
    # The match. Upstream.
    match: str
    # The text after the match. Upstream.
    after: str
    # Who said it: `user`, `assistant`, `tool`, `notice` (Gemini CLI itself), or `title`. Derived.
    role: str


class TextMatch(_TextMatch, total=False):
    """A place where a search matched."""
    # The tool, where it is a tool's input or output. Upstream.
    tool: str
    # The number of the message in the session, from 1; absent for the title. Derived.
    message: int


class SessionDocument(TypedDict):
    """A session, whole."""
    # The vocabulary and its version, `lapidary.session/1`. Derived.
    schema: str
    # The facts about the session beside its messages. Upstream.
    info: DocumentInfo
    # True if secrets and home directories were taken out; placeholders may stand in their place. Derived.
    redacted: bool
    # How many records of the file are not among the messages, because they were superseded, rewound or could not be read. Derived.
    leftOut: int
    # The messages, in order. Derived.
    messages: List[Message]


class _DocumentInfo(TypedDict):
    # The agent's family. Derived.
    provider: str
    # All that the file says of the session, as it stands. Upstream.
    metadata: Any


class DocumentInfo(_DocumentInfo, total=False):
    """The facts about a session."""
    # The session's id. Upstream.
    id: str
    # When it began. Upstream.
    startTime: str
    # When the session was last updated. Upstream.
    lastUpdated: str
    # The title that a model gave it. Upstream.
    summary: str


class _Removal(TypedDict):
    # The vocabulary and its version, `lapidary.removal/1`. Derived.
    schema: str
    # Whether files were removed: false if this report is a preview. Derived.
    applied: bool
    # The sessions, and the files that belong to none. Derived.
    removed: List[RemovedSession]
    # How many of the examined sessions stay. Derived.
    kept: int
    # How many bytes go. Derived.
    bytes: int


class Removal(_Removal, total=False):
    """Sessions that were removed, or would be."""
    # Files that could not be removed, a sentence each. Derived.
    failures: List[str]
    # Other problems, a sentence each. Derived.
    warnings: List[str]


class _RemovedSession(TypedDict):
    # The name of the project's directory in `.gemini/tmp`. Upstream.
    projectId: str
    # Why it goes. Derived.
    reason: RemovalReason
    # The files of the session: every one that names its id. Derived.
    files: List[str]
    # What else belongs to it: outputs of tools, logs, plans, sub-agents. Derived.
    artefacts: List[str]
    # How many bytes all that is. Derived.
    bytes: int


class RemovedSession(_RemovedSession, total=False):
    """A session that goes, with all that belongs to it."""
    # The session's id, whole; absent for a file that names none. Upstream.
    id: str
    # The session's title in a list. Derived.
    displayName: str
    # When a message was last added, or its newest file was written. Derived.
    lastUpdated: str
    # The project's directory, if it is known. Upstream.
    project: str


class _Stats(TypedDict):
    # The vocabulary and its version, `lapidary.stats/1`. Derived.
    schema: str
    # Sessions that contribute to a count, each once however many files it has. Derived.
    sessions: int
    # Sessions of sub-agents among the files; their messages and tokens are counted, too. Derived.
    subagents: int
    # Messages that users wrote, without commands and the CLI's messages in the user's name. Derived.
    turns: int
    # Messages of any kind, each once. Derived.
    messages: int
    # Answers of a model. Derived.
    answers: int
    # Answers whose tokens are unknown. Derived.
    answersWithoutTokens: int
    # Calls of tools. Derived.
    toolCalls: int
    # Those of them that failed. Derived.
    toolErrors: int
    # The tokens of all answers, rewound ones included: they were used, too. Upstream.
    tokens: TokenCounts
    # Tokens without a known price; they are not in `cost`. Derived.
    unpricedTokens: int
    # The day of which the prices are: the earliest of `priceSources`, or that of the user's own table. Derived.
    pricesAsOf: str
    # By model, the most used first. Derived.
    models: List[ModelStats]
    # By day (UTC), the earliest first. Derived.
    days: List[DayStats]
    # By tool, the most used first. Derived.
    tools: List[ToolStats]
    # Messages without a time, which are in no day. Derived.
    undated: int


class Stats(_Stats, total=False):
    """How much was said and done."""
    # The cost of the answers with a known price, in US dollars. Absent if no price is known. Derived.
    cost: float
    # The places that the prices in `cost` come from. Derived.
    priceSources: List[PriceSource]
    # By agent, the one with the most sessions first. Derived.
    providers: List[ProviderStats]
    # By project, the one with the most tokens first. Derived.
    projects: List[ProjectStats]
    # Tokens by day, agent, project and model, in this order. Derived.
    usage: List[UsageRow]
    # Other problems, a sentence each. Derived.
    warnings: List[str]


class TokenCounts(TypedDict):
    """How many tokens."""
    # Read, the cached ones included. Upstream.
    input: int
    # Written, thoughts not included. Upstream.
    output: int
    # Those read that were cached. Upstream.
    cached: int
    # Those read that were written to a cache, which costs more than reading them. Upstream.
    cacheWritten: int
    # Those of them that the cache keeps for an hour, which costs still more. Upstream.
    cacheWritten1h: int
    # Thought. Upstream.
    thoughts: int
    # Read of what tools of the API's own put out. Upstream.
    tool: int
    # All together. Upstream.
    total: int


class PriceSource(TypedDict):
    """A place that prices come from."""
    # The day of which the prices are; empty in the user's own table without a date. Derived.
    asOf: str
    # An address, or the user's own table. Derived.
    source: str


class _ModelStats(TypedDict):
    # Its answers. Derived.
    answers: int
    # Its tokens. Upstream.
    tokens: TokenCounts


class ModelStats(_ModelStats, total=False):
    """What one model did."""
    # The model; absent for answers that do not name theirs. Upstream.
    model: str
    # The cost in US dollars; absent if the price is not known. Derived.
    cost: float


class _ProviderStats(TypedDict):
    # The agent's family, such as `gemini` or `claude`. Derived.
    provider: Provider
    # Its sessions, those of sub-agents not included. Derived.
    sessions: int
    # Answers of its models. Derived.
    answers: int
    # Their tokens. Upstream.
    tokens: TokenCounts


class ProviderStats(_ProviderStats, total=False):
    """What one agent did."""
    # Their cost in US dollars, where the price is known. Derived.
    cost: float


class _ProjectStats(TypedDict):
    # Its sessions, those of sub-agents not included. Derived.
    sessions: int
    # Answers of models. Derived.
    answers: int
    # Their tokens. Upstream.
    tokens: TokenCounts


class ProjectStats(_ProjectStats, total=False):
    """What happened in one project."""
    # The project's directory; absent for sessions that do not name theirs. Upstream.
    project: str
    # Their cost in US dollars, where the price is known. Derived.
    cost: float


class _DayStats(TypedDict):
    # The day (UTC). Derived.
    date: str
    # Messages that users wrote. Derived.
    turns: int
    # Messages of any kind. Derived.
    messages: int
    # Tokens. Upstream.
    tokens: TokenCounts


class DayStats(_DayStats, total=False):
    """What happened on a day."""
    # The cost in US dollars, where the price is known. Derived.
    cost: float


class _UsageRow(TypedDict):
    # The agent's family, such as `gemini` or `claude`. Derived.
    provider: Provider
    # Answers. Derived.
    answers: int
    # Their tokens. Upstream.
    tokens: TokenCounts


class UsageRow(_UsageRow, total=False):
    """The tokens of one agent and one model in one project on one day."""
    # The day (UTC); absent for answers without a time. Derived.
    date: str
    # The project's directory, if the session names it. Upstream.
    project: str
    # The model, if the answer names it. Upstream.
    model: str
    # Their cost in US dollars; absent if the price is not known. Derived.
    cost: float


class ToolStats(TypedDict):
    """What one tool was used for."""
    # The tool's name. Upstream.
    name: str
    # How often it was called. Derived.
    calls: int
    # How often it failed. Derived.
    errors: int
    # How often a call was called off. Derived.
    cancelled: int


class _VaultReport(TypedDict):
    # The vocabulary and its version, `lapidary.vault/1`. Derived.
    schema: str
    # Where the vault is. Derived.
    vault: str
    # `add`, `log`, `verify`, `restore` or `prune`. Derived.
    verb: str
    # False if this only says what would be done. Derived.
    applied: bool


class VaultReport(_VaultReport, total=False):
    """What each command of `lapidary sessions vault` prints."""
    # The snapshots that were asked for, or taken, the oldest first. Derived.
    snapshots: List[VaultSnapshot]
    # Sessions of which no file is left, for `log`. Derived.
    onlyInVault: List[VaultSession]
    # The restored files, or with a dry run the files to be restored. Derived.
    restored: List[RestoredFile]
    # How sound it is, for `verify`. Derived.
    soundness: Soundness
    # What was removed, or would be, for `prune`. Derived.
    pruned: PrunedContents
    # What else was done, or was wrong, a sentence each. Derived.
    warnings: List[str]


class VaultSnapshot(TypedDict):
    """Session files of one project at one time."""
    # The session's title. Derived.
    id: str
    # When it was taken. Derived.
    time: str
    # What for. Derived.
    reason: str
    # The directory that the paths start from. Derived.
    project: str
    # The files, by path. Derived.
    files: List[VaultFile]


class _VaultFile(TypedDict):
    # Where it lay, from the project's directory on. Derived.
    path: str
    # Its size in bytes. Derived.
    size: int
    # When it was last changed. Upstream.
    mtime: str
    # The SHA-256 of its content. Derived.
    sha256: str
    # True if Gemini CLI would have listed it. Derived.
    listed: bool


class VaultFile(_VaultFile, total=False):
    """A file in a snapshot."""
    # The session's whole id, if it says one. Upstream.
    sessionId: str


class _VaultSession(TypedDict):
    # Its whole id. Upstream.
    sessionId: str
    # What to call it: the summary, or else the first message. Derived.
    displayName: str
    # When the session was last updated. Upstream.
    lastUpdated: str
    # The name of the project's directory in `.gemini/tmp`; empty for another agent. Upstream.
    projectId: str


class VaultSession(_VaultSession, total=False):
    """A session that is in the vault only."""
    # The agent, if it is not Gemini CLI. Derived.
    provider: Provider
    # Where its file was. Derived.
    path: str
    # When the last snapshot that has it was taken. Derived.
    lastSeen: str
    # When the first snapshot was taken that does not have it any more. Derived.
    missingSince: str


class RestoredFile(TypedDict):
    """A file that was brought back, or would be."""
    # Where it is now. Derived.
    path: str
    # How it was restored. Derived.
    how: RestoredHow
    # The file in the vault. Derived.
    file: VaultFile


class Soundness(TypedDict):
    """Whether the vault's contents are as its list says."""
    # True if everything that a snapshot names can be brought back. Derived.
    sound: bool
    # How many snapshots can be read. Derived.
    snapshots: int
    # How many contents are sound. Derived.
    contents: int
    # Their bytes in all. Derived.
    bytes: int
    # Contents that changed or are missing. Derived.
    damaged: List[DamagedContent]
    # Snapshots that cannot be read. Derived.
    unreadable: List[str]
    # How many contents no snapshot names. Derived.
    unreferenced: int


class DamagedContent(TypedDict):
    """A content that cannot be brought back."""
    # Its SHA-256. Derived.
    sha256: str
    # True if it is not there at all. Derived.
    missing: bool
    # The files that had it, by where they lay. Derived.
    files: List[str]
    # Their sessions. Derived.
    sessionIds: List[str]


class PrunedContents(TypedDict):
    """What was removed from the vault, or would be."""
    # Contents that a newer one of the same session begins with: they can still be brought back. Derived.
    contained: int
    # Contents that were too old or too many. Derived.
    dropped: int
    # Contents that no snapshot named. Derived.
    unreferenced: int
    # Snapshots of which nothing was left. Derived.
    snapshots: int
    # Bytes that are free then. Derived.
    freed: int
    # Bytes that are left. Derived.
    left: int


class _RecoverReport(TypedDict):
    # The vocabulary and its version, `lapidary.recover/1`. Derived.
    schema: str
    # False if this only says what would come back. Derived.
    applied: bool
    # How many files were looked at. Derived.
    looked: int
    # The recovered contents, session by session. Derived.
    sessions: List[RecoveredSession]


class RecoverReport(_RecoverReport, total=False):
    """What `lapidary sessions recover` prints."""
    # Files without content that Gemini CLI's next start would delete together with a conversation; they go into the vault. Derived.
    dangers: List[str]
    # Sessions of which no file is left that could be resumed: each comes back when it is named. Derived.
    onlyInVault: List[VaultSession]
    # What else was done, a sentence each. Derived.
    actions: List[str]
    # Problems, a sentence each. Derived.
    warnings: List[str]


class _RecoveredSession(TypedDict):
    # Its whole id, or the one that it gets if nothing in it says one. Upstream.
    sessionId: str
    # The file that hides it. Derived.
    path: str
    # True if the content is the vault's, since no file holds any of it. Derived.
    fromVault: bool
    # How many messages Gemini CLI shows before. Derived.
    shown: int
    # How many it has then. Derived.
    total: int
    # Messages that get fields back, such as tokens and tool calls. Derived.
    poorer: int
    # Why they are hidden: `clobbered`, `unknown_rewind`, `torn_line`, `compressed`, `rewound`, `no_header`, or `deleted` by the agent. Derived.
    causes: List[str]
    # The messages that come back, in order. Derived.
    found: List[FoundMessage]


class RecoveredSession(_RecoveredSession, total=False):
    """A session of which messages come back."""
    # The file that it is in now. Derived.
    recoveredPath: str


class _FoundMessage(TypedDict):
    # `user`, `gemini` and so on. Upstream.
    type: str
    # How it begins. Upstream.
    words: str


class FoundMessage(_FoundMessage, total=False):
    """A message that comes back."""
    # When it was written. Upstream.
    timestamp: str


class _SkillList(TypedDict):
    # The vocabulary and its version, `lapidary.skills/1`. Derived.
    schema: str
    # The skills in the order in which Gemini CLI lists them: by name, built-in ones last. Derived.
    skills: List[SkillInfo]


class SkillList(_SkillList, total=False):
    """What `lapidary skills list` prints."""
    # Other problems, a sentence each. Derived.
    warnings: List[str]
    # Skills that are not in the list and why, a sentence each. Derived.
    notes: List[str]


class _SkillInfo(TypedDict):
    # Its name, with a dash for what no file name may hold. Upstream.
    name: str
    # The skill's description. Upstream.
    description: str
    # Its `SKILL.md`. Derived.
    location: str
    # Where it was found. Derived.
    tier: SkillTier
    # Whether a settings file disables it. Derived.
    disabled: bool
    # Whether it comes with Gemini CLI. Derived.
    isBuiltin: bool


class SkillInfo(_SkillInfo, total=False):
    """A skill that counts, or would if it were not disabled."""
    # The extension that it comes with. Upstream.
    extensionName: str


class _SkillCheck(TypedDict):
    # The vocabulary and its version, `lapidary.skills-check/1`. Derived.
    schema: str
    # Each file that is a skill or could be one, place by place, the weakest place first. Derived.
    candidates: List[SkillCandidate]
    # How many of them count. Derived.
    loaded: int
    # About how many tokens their names and descriptions take in every prompt. Derived.
    listedTokens: int


class SkillCheck(_SkillCheck, total=False):
    """What `lapidary skills check` prints."""
    # Why none counts, if a setting says so. Derived.
    switchedOff: str
    # Files that cannot be used beside the candidates, such as settings that are not JSON, a sentence each. Derived.
    errors: List[str]
    # What else was wrong, a sentence each. Derived.
    warnings: List[str]


class _SkillCandidate(TypedDict):
    # The file, or the directory that has none. Derived.
    path: str
    # Where it was found. Derived.
    tier: SkillTier
    # What became of it. Derived.
    fate: SkillFate


class SkillCandidate(_SkillCandidate, total=False):
    """A file that is a skill, or could be one."""
    # The skill's name, if it is a skill. Upstream.
    name: str
    # How bad that is; absent if it is loaded or disabled. Derived.
    severity: SkillSeverity
    # Why, if it does not count: a sentence. Derived.
    explanation: str
    # The settings files that disable it. Derived.
    disabledBy: List[str]
    # The skill that counts in its place. Derived.
    overriddenBy: str
    # Another candidate that is the same file, reached on another way. Derived.
    sameFileAs: str
    # Where the link leads that it is, or that its directory is. Derived.
    linksTo: str
    # Why its front matter was read line by line, which keeps quotes and the like as they stand. Derived.
    notYaml: str
    # About how many tokens its name and description take in every prompt. Derived.
    listedTokens: int
    # About how many tokens it takes once it is activated. Derived.
    activatedTokens: int


class _SkillChange(TypedDict):
    # The vocabulary and its version, `lapidary.skills-change/1`. Derived.
    schema: str
    # The requested change. Derived.
    action: SkillAction
    # Whether a file was written: false if no change was needed. Derived.
    applied: bool


class SkillChange(_SkillChange, total=False):
    """What `lapidary skills enable`, `disable`, `install`, `link` and `uninstall` changed."""
    # The skill that was named. Derived.
    name: str
    # Where skills came from, as it was named, without a password. Derived.
    source: str
    # Whose settings or skills were to change; absent for both. Derived.
    scope: SkillScope
    # The settings files that changed. Derived.
    changed: List[str]
    # The skills that came or went. Derived.
    skills: List[MovedSkill]
    # Remarks for the user, a sentence each. Derived.
    remarks: List[str]


class MovedSkill(TypedDict):
    """A skill that came or went."""
    # Its name. Upstream.
    name: str
    # Its directory, or the link to it. Derived.
    location: str
    # Whether it replaced a skill of that name. Derived.
    replaced: bool


class _HookList(TypedDict):
    # The vocabulary and its version, `lapidary.hooks/1`. Derived.
    schema: str
    # The workspace. Derived.
    workspace: str
    # Whether the workspace is trusted. In one that is not, no hook of any settings runs. Derived.
    trusted: bool
    # The hooks that could run, in the order in which they would. Derived.
    hooks: List[HookInfo]
    # Definitions that do not count. Derived.
    leftOut: List[LeftOutHook]


class HookList(_HookList, total=False):
    """The hooks of a workspace."""
    # The files that switch off all hooks. Derived.
    switchedOffBy: List[str]
    # What Gemini CLI says when it starts with these hooks. Derived.
    warnings: List[str]
    # Remarks about the settings that hold them, a sentence each. Derived.
    notices: List[str]


class _HookInfo(TypedDict):
    # The event it is for. Upstream.
    event: str
    # Its name for people, also for `enable` and `disable`: its `name`, else its command. Upstream.
    name: str
    # The command line for the shell. Upstream.
    command: str
    # How many milliseconds it may take. Upstream, or Gemini CLI's default.
    timeoutMs: int
    # Whether it makes the hooks of its event run one after the other. Upstream.
    sequential: bool
    # Whether it runs. Derived.
    enabled: bool
    # What Gemini CLI takes it for: `project` for all settings, `extensions`. Derived.
    source: str
    # The file it is written in. Derived.
    path: str
    # The keys and positions that lead to it in that file. Derived.
    keys: List[str]


class HookInfo(_HookInfo, total=False):
    """A hook that could run."""
    # The author's description. Upstream.
    description: str
    # When it runs; absent if always. Upstream.
    matcher: str
    # Whether a call goes on where the hook did not end by itself: its `failOpen`. Upstream.
    failOpen: bool
    # Why it never runs though it is switched on: its matcher can match nothing. Derived.
    neverRuns: str
    # The files that switch it off. Derived.
    disabledBy: List[str]
    # Whose settings it is really in. Derived.
    scope: HookScope
    # The extension it comes with. Upstream.
    extension: str


class LeftOutHook(TypedDict):
    """A hook, event or file among the hooks that does not count."""
    # The skipped item: a hook, an event, a file. Upstream.
    what: str
    # The file it is written in. Derived.
    path: str
    # The keys and positions that lead to it in that file. Derived.
    keys: List[str]
    # Why, in one sentence. Derived.
    reason: str


class HookCheck(TypedDict):
    """The problems of hooks as they are written."""
    # The vocabulary and its version, `lapidary.hooks-check/1`. Derived.
    schema: str
    # The workspace. Derived.
    workspace: str
    # How many findings are errors. Derived.
    errors: int
    # How many are warnings. Derived.
    warnings: int
    # All of them, the worst first. Derived.
    findings: List[HookFinding]


class _HookFinding(TypedDict):
    # How bad it is. Derived.
    severity: HookSeverity
    # What sort of thing it is, in a word that stays the same. Derived.
    code: str
    # The file: settings, an extension's, or a script. Derived.
    path: str
    # The hook or event it is about. Upstream.
    subject: str
    # The problem, as a sentence. Derived.
    message: str


class HookFinding(_HookFinding, total=False):
    """A finding about a hook."""
    # The line in it, from one. Derived.
    line: int
    # The letter in the line, from one. Derived.
    column: int
    # What to do about it. Derived.
    hint: str


class _HookChange(TypedDict):
    # The vocabulary and its version, `lapidary.hooks-change/1`. Derived.
    schema: str
    # The requested change. Derived.
    action: HookAction
    # Whether a file was written: false if this report is a preview, or if no change was needed. Derived.
    applied: bool
    # The files that changed, or would. Derived.
    changed: List[str]


class HookChange(_HookChange, total=False):
    """What `hooks enable`, `hooks disable` and `hooks migrate` changed, or would change."""
    # The hook that was named. Derived.
    name: str
    # Hooks that were added, or would be. Derived.
    added: List[AddedHook]
    # Hooks that have no translation, a sentence each. Derived.
    skipped: List[str]
    # Points that the user should check, a sentence each. Derived.
    remarks: List[str]


class _AddedHook(TypedDict):
    # The event it is for. Derived.
    event: str
    # The command line for the shell. Derived.
    command: str


class AddedHook(_AddedHook, total=False):
    """A hook that was added to settings."""
    # When it runs; absent if always. Derived.
    matcher: str
    # Its timeout in milliseconds, if there is one. Derived.
    timeoutMs: int


class _HookTest(TypedDict):
    # The vocabulary and its version, `lapidary.hooks-test/1`. Derived.
    schema: str
    # The event, such as `BeforeTool`. Upstream.
    event: str
    # What happened at each moment: one, or as many as a recording has. Derived.
    moments: List[HookMoment]


class HookTest(_HookTest, total=False):
    """The hooks of an event, tried out."""
    # Why no hook of any settings ran, if the folder is not trusted and there are such hooks: the test says nothing about them. Derived.
    untrusted: str
    # Definitions that do not count, and why, a sentence each. Derived.
    leftOut: List[str]
    # Remarks about the settings, a sentence each. Derived.
    warnings: List[str]


class _HookMoment(TypedDict):
    # The input of the hooks. Upstream and derived, as the CLI would send it.
    payload: Any
    # How they follow one another. Derived.
    order: HookOrder
    # The hooks that ran, in the order of the plan. Derived.
    hooks: List[HookTrial]
    # The effects, in this order. Derived.
    effects: List[HookEffect]


class HookMoment(_HookMoment, total=False):
    """A moment at which hooks run."""
    # What matchers were compared with: a tool's name, or the word of a session's event. Upstream.
    context: str
    # The others of the event, and why each did not run. Derived.
    notRun: List[HookNotRun]
    # Their combined answer; absent if none of them answered. Derived.
    aggregate: Any
    # Points where the CLI's decision is unknown, a sentence each. Derived.
    diagnostics: List[str]


class _HookTrial(TypedDict):
    # Its name, or else its command. Upstream.
    hook: str
    # Its command. Upstream.
    command: str
    # The file it is written in. Derived.
    origin: str
    # The source that it counts as: `project`, `extensions`, … Derived.
    source: str
    # How long it may take, in milliseconds. Upstream.
    timeoutMs: int
    # How long it took, in milliseconds. Derived.
    durationMs: int
    # The hook's standard output. Upstream.
    stdout: str
    # The hook's standard error. Upstream.
    stderr: str
    # True if Gemini CLI would have let the call pass that this answer refuses. Derived.
    stricter: bool
    # True if it was ended because it took too long. Derived.
    timedOut: bool


class HookTrial(_HookTrial, total=False):
    """A hook that was tried out."""
    # When it runs, as it is written. Upstream.
    matcher: str
    # Its input, if a hook before it had changed that. Upstream and derived.
    payload: Any
    # Its exit code. Upstream.
    exitCode: int
    # The signal that ended it. Upstream.
    signal: int
    # The number of bytes of output beyond the kept ones. Derived.
    leftOutBytes: int
    # How its answer was read; absent if it has none. Derived.
    format: HookFormat
    # Its answer. Derived from its output and its exit code.
    output: Any
    # Why it has no answer, if it should have one. Derived.
    error: str


class HookNotRun(TypedDict):
    """A hook of the event that did not run."""
    # Its name, or else its command. Upstream.
    hook: str
    # The file it is written in. Derived.
    origin: str
    # Why: a file switches it off, its matcher does not match, or the same hook ran already. Derived.
    reason: str


class _HookEffect(TypedDict):
    # What. Derived.
    effect: HookEffectKind


class HookEffect(_HookEffect, total=False):
    """An effect of the hooks' answers."""
    # In words: a reason, a context, a message, a prompt. Upstream.
    text: str
    # With what: arguments, a request, an answer, tools. Upstream.
    value: Any


class _AgentList(TypedDict):
    # The vocabulary and its version, `lapidary.agents/1`. Derived.
    schema: str
    # Programs that `--agent` starts. Derived.
    programs: List[AgentProgram]
    # Definitions, in the order of their precedence. Derived.
    definitions: List[AgentInfo]


class AgentList(_AgentList, total=False):
    """What `lapidary agents list` prints."""
    # Problems, a sentence each. Derived.
    warnings: List[str]
    # Definitions that are not in the list and why, a sentence each. Derived.
    notes: List[str]


class _AgentProgram(TypedDict):
    # The name that `--agent` takes. Derived.
    name: str
    # Whether it was found here; true for an agent with a `url`. Derived.
    installed: bool


class AgentProgram(_AgentProgram, total=False):
    """A program that `--agent` starts."""
    # The address of a remote agent, without credentials. Derived.
    url: str
    # The program. Derived.
    path: str
    # Its version, if its package says so. Upstream.
    version: str


class _AgentInfo(TypedDict):
    # Its name. Upstream.
    name: str
    # The agent's purpose. Upstream.
    description: str
    # Where it runs. Derived.
    kind: AgentKind
    # Where it was found. Derived.
    source: AgentOrigin
    # Whether it counts. Derived.
    state: AgentStanding


class AgentInfo(_AgentInfo, total=False):
    """A definition of an agent that a model can call."""
    # Its name for people. Upstream.
    displayName: str
    # The extension that it comes with. Upstream.
    extensionName: str
    # Its file. Derived.
    path: str
    # Why it does not count: a sentence. Derived.
    reason: str
    # Its model; `inherit` stands for the model of its caller. Upstream.
    model: str
    # The turns that it may take. Upstream, or the default.
    maxTurns: int
    # The minutes that it may take. Upstream, or the default.
    maxTimeMinutes: float
    # Its tools; absent for all tools of its caller. Upstream.
    tools: List[str]


class _AgentShown(TypedDict):
    # The vocabulary and its version, `lapidary.agent/1`. Derived.
    schema: str
    # The definition in short. Derived.
    agent: AgentInfo
    # The JSON Schema of its inputs. Upstream.
    inputSchema: Any


class AgentShown(_AgentShown, total=False):
    """What `lapidary agents show` prints: a definition after its overrides."""
    # Its system prompt. Upstream.
    systemPrompt: str
    # Its first user message. Upstream.
    query: str
    # The argument of `complete_task` that holds its result. Upstream.
    outputName: str
    # The JSON Schema of its result. Upstream.
    outputSchema: Any
    # The parameters of its model requests. Upstream.
    generateContentConfig: Any
    # The names of its own MCP servers. Upstream.
    mcpServers: List[str]
    # The address of a remote agent's card. Upstream.
    agentCardUrl: str
    # The inline card of a remote agent. Upstream.
    agentCardJson: str
    # The type of a remote agent's authentication. Its secrets are not printed. Upstream.
    authType: str
    # The hash that an acknowledgement of it stands for. Derived.
    hash: str


class AgentCheckReport(TypedDict):
    """What `lapidary agents check` prints."""
    # The vocabulary and its version, `lapidary.agents-check/1`. Derived.
    schema: str
    # How many definitions could be read. Derived.
    agents: int
    # How many findings are errors. Derived.
    errors: int
    # How many findings are warnings. Derived.
    warnings: int
    # The findings, file by file. Derived.
    findings: List[AgentFinding]


class _AgentFinding(TypedDict):
    # How bad it is. Derived.
    severity: AgentFindingSeverity
    # The file. Derived.
    path: str
    # What there is to know, as a sentence. Derived.
    message: str


class AgentFinding(_AgentFinding, total=False):
    """An error or a warning about an agent file."""
    # The line, from 1. Derived.
    line: int
    # The column, from 1. Derived.
    column: int
    # The agent, if the file is one. Upstream.
    agent: str
    # What to do about it. Derived.
    hint: str


class _AgentChange(TypedDict):
    # The vocabulary and its version, `lapidary.agents-change/1`. Derived.
    schema: str
    # The requested change. Derived.
    action: AgentAction
    # Whether a file was written: false if all was so already. Derived.
    applied: bool
    # The agents it was about. Derived.
    agents: List[ChangedAgent]


class AgentChange(_AgentChange, total=False):
    """What `lapidary agents enable`, `disable`, `ack` and `import` changed."""
    # The files that changed. Derived.
    changed: List[str]
    # Remarks for the user, a sentence each. Derived.
    remarks: List[str]


class _ChangedAgent(TypedDict):
    # Its name. Upstream.
    name: str


class ChangedAgent(_ChangedAgent, total=False):
    """An agent that a change was about."""
    # The file that it was converted from. Derived.
    importedFrom: str
    # Parts that the import dropped or changed, a sentence each. Derived.
    dropped: List[str]


class _ConfigShown(TypedDict):
    # The vocabulary and its version, `lapidary.config/1`. Derived.
    schema: str
    # The files that were looked for, the user's first. Derived.
    files: List[ConfigFile]
    # Every key, its value and where that comes from. Derived.
    settings: List[ConfigSetting]


class ConfigShown(_ConfigShown, total=False):
    """The configuration that a run here would have."""
    # The permission rules, in the order in which they count. Derived.
    rules: List[ConfigRule]
    # The names of the agents that the user's file defines. Derived.
    agents: List[str]
    # The part that was ignored, in words. Derived.
    warnings: List[str]


class ConfigFile(TypedDict):
    """A configuration file."""
    # Whose it is. Derived.
    owner: ConfigOwner
    # Where it is, or would be. Derived.
    path: str
    # Whether it is there. Derived.
    exists: bool


class _ConfigSetting(TypedDict):
    # The key. Derived.
    key: str
    # True if no file has the key. Derived.
    isDefault: bool


class ConfigSetting(_ConfigSetting, total=False):
    """A key, its value and where that comes from."""
    # The value, as a file would have it; absent if there is neither a value nor a default. Derived.
    value: Any
    # The file that it comes from. Derived.
    path: str
    # The line in it, from 1. Derived.
    line: int


class ConfigRule(TypedDict):
    """A permission rule."""
    # Where it stands. Derived.
    rule: str
    # The rule's decision: `allow`, `deny` or `ask`. Derived.
    effect: str


class ConfigCheck(TypedDict):
    """The problems of the configuration files."""
    # The vocabulary and its version, `lapidary.config-check/1`. Derived.
    schema: str
    # The files that were read, the user's first. Derived.
    files: List[ConfigFile]
    # How many errors there are. Derived.
    errors: int
    # How many warnings there are. Derived.
    warnings: int
    # The problems. Derived.
    findings: List[ConfigFinding]


class _ConfigFinding(TypedDict):
    # How bad it is. Derived.
    severity: ConfigSeverity
    # The file. Derived.
    path: str
    # The problem, in one sentence. Derived.
    message: str


class ConfigFinding(_ConfigFinding, total=False):
    """A problem with a configuration file."""
    # The line, from 1. Derived.
    line: int
    # The character in the line, from 1. Derived.
    column: int
    # What to do about it. Derived.
    hint: str


# One event: what happened, and where it stands in its run.
AgentEvent = Union[SessionInit, ConfigOptions, AvailableCommands, SessionMode, SessionStatus, AgentText, UserInput, ToolInvocation, ToolCompletion, SubagentSpawn, SubagentComplete, TurnComplete, ContextCompaction, PermissionRequest, StreamDelta, UsageUpdate, RateLimitUpdate, RunEnd, Diagnostic, HookRun, PermissionDecision, CommandResult, ElicitationRequest, ElicitationResult]

# One part of a tool's content; `type` is the discriminator.
ContentBlock = Union[TextBlock, ThinkingBlock, ToolUseBlock, ToolResultBlock, ImageBlock, AudioBlock, ResourceBlock, ResourceLinkBlock, DiffBlock, TerminalBlock]

# One block of a message; `type` is the discriminator.
MessageBlock = Union[TextBlock, ThinkingBlock, ToolUseBlock, ToolResultBlock, SlashCommandBlock, MessageImage]

# One ticket-mode event.
RuntimeEvent = Union[OutputProduced, ToolCallRequested, TurnDiffUpdated, TokenUsageUpdated, TurnCompleted, TurnFailed, TaskStatus]

# A line that a front end sends in: a command, and an id for its result.
Command = Union[SendMessage, Steer, PermissionResponse, ElicitationResponse, Interrupt, Kill, SetModel, SetPermissionMode, SetConfigOption, SetReasoningEffort, CreateSession, LoadSession, ResumeSession, ListSessions, CloseSession, DeleteSession, SetMode, Authenticate]

# The contents of a message.
Content = Union[str, List[MessageBlock]]
