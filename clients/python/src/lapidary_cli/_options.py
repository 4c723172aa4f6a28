"""The options of runs and connections, and the command line that they stand for."""

from __future__ import annotations

import os
from typing import Any, Awaitable, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Type, TypedDict, Union

from .vocabulary import ElicitationRequest, PermissionRequest


class _PermissionAnswer(TypedDict):
    allowed: bool


class PermissionAnswer(_PermissionAnswer, total=False):
    """The fields of a `permission_response`."""

    forRun: bool
    message: str
    updatedInput: Any
    interrupt: bool


class _ElicitationAnswer(TypedDict):
    action: Literal["accept", "decline", "cancel"]


class ElicitationAnswer(_ElicitationAnswer, total=False):
    """The answer to a form or page of the agent."""

    content: Dict[str, Any]


#: Decides a permission request: whether it is allowed, or the fields of the answer. May be a coroutine function with `async for`.
PermissionCallback = Callable[
    [PermissionRequest], Union[bool, PermissionAnswer, Awaitable[Union[bool, PermissionAnswer]]]
]
ElicitationCallback = Callable[[ElicitationRequest], Union[ElicitationAnswer, Awaitable[ElicitationAnswer]]]


class _ServerOptions(TypedDict):
    url: str


class ServerOptions(_ServerOptions, total=False):
    """The server of `lapidary serve`: `url` is `http://127.0.0.1:7717`, or `unix:/path/to/socket`."""

    token: Optional[str]
    # The file with the token; without both, the one that `lapidary serve` of this user writes.
    token_file: Optional[str]


class AgentOptions(TypedDict, total=False):
    """Options of every run and connection. Those of the command line have the same names: `lapidary run --help`."""

    # `gemini` (default), `claude`, `codex`, `qwen`, `opencode`, `goose`, `demo`, or the command of an ACP agent.
    agent: Optional[str]
    model: Optional[str]
    # The directory that the agent works in.
    cwd: Optional[Union[str, "os.PathLike[str]"]]
    permission_mode: Optional[Literal["default", "acceptEdits", "bypassPermissions", "plan"]]
    # Rules such as `edit:src/**` or `execute:cargo test*`.
    allow: Optional[Sequence[str]]
    deny: Optional[Sequence[str]]
    ask: Optional[Sequence[str]]
    trust_workspace: Optional[bool]
    # Seconds.
    timeout: Optional[float]
    # Limits such as `tokens=200000,cost=2`.
    budget: Optional[str]
    # Whether events have the agent's own lines in `raw`.
    raw: Optional[bool]
    # Further options of the command line, as they are.
    args: Optional[Sequence[str]]
    # Variables of the process; those of this process without it.
    env: Optional[Mapping[str, str]]
    # The binary, instead of the one of the package.
    binary: Optional[str]
    # Decides requests for permission; without it, those that no rule decides are denied.
    on_permission: Optional[PermissionCallback]
    # Fills in the agent's forms; without it, they are declined.
    on_elicitation: Optional[ElicitationCallback]
    # Gets what `lapidary` writes to stderr, on a thread of its own.
    on_stderr: Optional[Callable[[str], object]]
    # The longest line that is read, in bytes. Default: 256 MiB.
    max_line_bytes: Optional[int]


class RunOptions(AgentOptions, total=False):
    """Options of a run."""

    # A JSON Schema that the answer must fit.
    output_schema: Optional[Mapping[str, Any]]
    # A session to continue: `latest`, or its id.
    resume: Optional[str]
    # Runs on this server instead of a process: an address, or more about it.
    server: Optional[Union[str, ServerOptions]]
    # With a server: the same key with the same options is the same run.
    request_key: Optional[str]


class WatchOptions(TypedDict, total=False):
    """Options of `watch`."""

    on_permission: Optional[PermissionCallback]
    on_elicitation: Optional[ElicitationCallback]
    max_line_bytes: Optional[int]


class PromptOptions(TypedDict, total=False):
    """Options of one prompt of a connection."""

    # The session that it is for; without it, the only open one.
    session_id: Optional[str]
    # Content blocks beside the text.
    content: Optional[Sequence[Any]]
    # A JSON Schema that the answer must fit: the `command_result` has its `data`.
    output_schema: Optional[Mapping[str, Any]]
    # How often the agent may repair an answer that does not fit: 2 without it.
    schema_repairs: Optional[int]


#: Options that are lists.
LISTS = ("allow", "deny", "ask", "args", "content")


def given_options(options: Mapping[str, Any], known: Type[Any]) -> Dict[str, Any]:
    """The options that are not `None`. Python checks no types: a misspelled option would have no effect."""
    names = known.__annotations__.keys()
    for name, value in options.items():
        if name not in names:
            raise TypeError(f"unknown option `{name}`: there are {', '.join(sorted(names))}")
        if name in LISTS and isinstance(value, str):  # it is a sequence of strings, too: its letters
            raise TypeError(f"`{name}` is a list: write [{value!r}]")
    return {name: value for name, value in options.items() if value is not None}


def check_prompt(prompt: Any) -> None:
    """Refuses a prompt that is missing: the agent would wait for it."""
    if not isinstance(prompt, str):
        raise TypeError(f"the prompt is {prompt!r}: it must be a string")


def command_line(command: str, options: Mapping[str, Any]) -> List[str]:
    """The command line of these options."""
    args = [command]
    for name in ("agent", "model", "permission_mode", "timeout", "budget"):
        if name in options:
            args.append(f"--{name.replace('_', '-')}={options[name]}")
    for name in ("allow", "deny", "ask"):
        args.extend(f"--{name}={rule}" for rule in options.get(name) or ())
    if options.get("trust_workspace"):
        args.append("--trust-workspace")
    if not options.get("raw"):
        args.append("--no-raw")
    return [*args, *(options.get("args") or ())]
