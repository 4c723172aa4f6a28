"""The error of this package."""

from __future__ import annotations

from typing import Any, Literal, Optional, Tuple

#: What went wrong, for programs.
LapidaryErrorCode = Literal[
    "binary_missing",  # there is no binary for this platform, or `LAPIDARY_BIN` names no program
    "directory_missing",  # `cwd` is not a directory
    "version_mismatch",  # the binary or the server speaks another version than this client
    "ended_early",  # `lapidary` ended, or printed something else, before its `run_end`
    "line_too_long",  # a line is longer than `max_line_bytes`
    "server_address",  # the address of the server is invalid
    "token_missing",  # the token file of the server cannot be read
    "server_gone",  # the server cannot be reached any more
    "server_refused",  # the server refused a request
    "command_failed",  # the agent or Lapidary refused a command
    "unsupported_option",  # the option does not work with this transport
]


class LapidaryError(Exception):
    """What went wrong. `code` is for programs, `hint` is the next step, where there is one."""

    def __init__(self, code: LapidaryErrorCode, what: str, hint: Optional[str] = None, status: Optional[int] = None) -> None:
        super().__init__(what if hint is None else f"{what}\nhint: {hint}")
        self._what = what
        self.code: LapidaryErrorCode = code
        self.hint = hint
        #: The HTTP status of `server_refused`.
        self.status = status

    def __reduce__(self) -> Tuple[Any, ...]:
        # Otherwise an error could not leave a process of a pool.
        return LapidaryError, (self.code, self._what, self.hint, self.status)
