"""The error of this package."""

from __future__ import annotations

from typing import Optional


class LapidaryError(Exception):
    """What went wrong. `code` is for programs, `hint` is the next step, where there is one.

    Codes: `binary_missing`, `version_mismatch`, `ended_early`, `line_too_long`, `token_missing`,
    `server_gone`, `server_refused`, `command_failed`, `unsupported_option`.
    """

    def __init__(self, code: str, what: str, hint: Optional[str] = None, status: Optional[int] = None) -> None:
        super().__init__(what if hint is None else f"{what}\nhint: {hint}")
        self.code = code
        self.hint = hint
        #: The HTTP status of `server_refused`.
        self.status = status
