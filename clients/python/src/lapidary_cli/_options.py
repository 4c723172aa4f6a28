"""The options of runs and connections, and the command line that they stand for."""

from __future__ import annotations

import os
from typing import Any, Awaitable, Callable, Dict, List, Literal, Mapping, Sequence, Type, TypedDict, Union

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

    token: str
    # The file with the token; without both, the one that `lapidary serve` of this user writes.
    token_file: str


class AgentOptions(TypedDict, total=False):
    """Options of every run and connection. Those of the command line have the same names: `lapidary run --help`."""

    # `gemini` (default), `claude`, `codex`, `qwen`, `opencode`, `goose`, `demo`, or the command of an ACP agent.
    agent: str
    model: str
    # The directory that the agent works in.
    cwd: Union[str, "os.PathLike[str]"]
    permission_mode: Literal["default", "acceptEdits", "bypassPermissions", "plan"]
    # Rules such as `edit:src/**` or `execute:cargo test*`.
    allow: Sequence[str]
    deny: Sequence[str]
    ask: Sequence[str]
    trust_workspace: bool
    # Seconds.
    timeout: float
    # Limits such as `tokens=200000,cost=2`.
    budget: str
    # Whether events have the agent's own lines in `raw`.
    raw: bool
    # Further options of the command line, as they are.
    args: Sequence[str]
    # Variables of the process; those of this process without it.
    env: Mapping[str, str]
    # The binary, instead of the one of the package.
    binary: str
    # Without it, requests that no rule decides are denied.
    on_permission: PermissionCallback
    # Without it, forms and pages are declined.
    on_elicitation: ElicitationCallback
    # Gets what `lapidary` writes to stderr, on a thread of its own.
    on_stderr: Callable[[str], object]
    # The longest line that is read, in bytes. Default: 256 MiB.
    max_line_bytes: int


class RunOptions(AgentOptions, total=False):
    """Options of a run."""

    # A JSON Schema that the answer must fit.
    output_schema: Mapping[str, Any]
    # A session to continue: `latest`, or its id.
    resume: str
    # Runs on this server instead of a process: an address, or more about it.
    server: Union[str, ServerOptions]
    # With a server: the same key with the same options is the same run.
    request_key: str


def check_names(options: Mapping[str, Any], known: Type[Any]) -> None:
    """Python checks no types: a misspelled option would have no effect."""
    names = known.__annotations__.keys() | AgentOptions.__annotations__.keys()
    for name in options:
        if name not in names:
            raise TypeError(f"unknown option `{name}`: there are {', '.join(sorted(names))}")


def command_line(command: str, options: Mapping[str, Any]) -> List[str]:
    """The command line of these options."""
    args = [command]
    for name in ("agent", "model", "permission_mode", "timeout", "budget"):
        if options.get(name) is not None:
            args.append(f"--{name.replace('_', '-')}={options[name]}")
    for name in ("allow", "deny", "ask"):
        args.extend(f"--{name}={rule}" for rule in options.get(name) or ())
    if options.get("trust_workspace"):
        args.append("--trust-workspace")
    if not options.get("raw"):
        args.append("--no-raw")
    return [*args, *(options.get("args") or ())]
