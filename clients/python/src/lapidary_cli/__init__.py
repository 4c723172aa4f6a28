"""Runs coding agents and reads what they do as typed events.

`run` is one prompt, `connect` a conversation, `run_result` an outcome, `watch` a run of a server.
"""

import sys

if sys.version_info < (3, 9):
    raise ImportError(
        "`lapidary-cli` needs Python 3.9 or newer; this is Python %d.%d\n"
        "hint: install a current Python; the command line alone works without Python" % sys.version_info[:2]
    )

from ._api import arun_result, connect, run, run_result, watch
from ._binary import find_binary
from ._connection import Connection, Turn, TurnEvents
from ._errors import LapidaryError, LapidaryErrorCode
from ._options import (
    AgentOptions,
    ElicitationAnswer,
    ElicitationCallback,
    PermissionAnswer,
    PermissionCallback,
    PromptOptions,
    RunOptions,
    ServerOptions,
    WatchOptions,
)
from ._run import AgentRun
from ._version import VERSION as __version__

__all__ = [
    "AgentOptions",
    "AgentRun",
    "Connection",
    "ElicitationAnswer",
    "ElicitationCallback",
    "LapidaryError",
    "LapidaryErrorCode",
    "PermissionAnswer",
    "PermissionCallback",
    "PromptOptions",
    "RunOptions",
    "ServerOptions",
    "Turn",
    "TurnEvents",
    "WatchOptions",
    "__version__",
    "arun_result",
    "connect",
    "find_binary",
    "run",
    "run_result",
    "watch",
]
