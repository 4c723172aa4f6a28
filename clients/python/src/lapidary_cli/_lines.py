"""Lines of a byte stream. Only a newline ends a line: `str.splitlines` also ends it at U+2028, which JSON strings may contain."""

from __future__ import annotations

from typing import List

from ._errors import LapidaryError


class LineSplitter:
    """Collects bytes, and gives each line once it is complete."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._pieces: List[bytes] = []
        self._bytes = 0

    def push(self, data: bytes) -> List[bytes]:
        """The lines that these bytes complete."""
        *ended, rest = data.split(b"\n")
        lines = []
        for piece in ended:
            self._keep(piece)
            lines.append(self._take())
        self._keep(rest)
        return lines

    def end(self) -> List[bytes]:
        """The last line, if it has no newline."""
        return [self._take()] if self._bytes else []

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._bytes += len(piece)
        if self._bytes > self._longest:
            raise LapidaryError(
                "line_too_long",
                f"a line has more than {self._longest} bytes",
                "raise `max_line_bytes`, or leave out `raw=True`",
            )

    def _take(self) -> bytes:
        line = b"".join(self._pieces)
        self._pieces, self._bytes = [], 0
        return line
