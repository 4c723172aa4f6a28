"""What a run needs of its transport."""

from __future__ import annotations

import abc
from typing import Any, Dict, Iterator, List, Optional

#: The longest line that is read, unless an option says otherwise.
LONGEST_LINE = 256 * 1024 * 1024
#: Bytes that are read at a time.
CHUNK = 1 << 16

Line = Dict[str, Any]


class Transport(abc.ABC):
    """Brings the events of one run, and takes its commands. Used by several threads."""

    @abc.abstractmethod
    def batches(self) -> Iterator[List[Line]]:
        """The events, as they arrive together. Read by one thread."""

    @abc.abstractmethod
    def send(self, command: Line) -> Optional[Line]:
        """Sends a command. Over HTTP the result comes back, too."""

    @abc.abstractmethod
    def finish(self) -> None:
        """Takes no more commands: the run ends when its work is done."""

    @abc.abstractmethod
    def stop(self) -> None:
        """Ends the run, without waiting for its end."""
