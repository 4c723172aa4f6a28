"""A queue between the thread that reads events and the loop that uses them, which may be asynchronous."""

from __future__ import annotations

import asyncio
import collections
import threading
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

Event = Dict[str, Any]
_Waiter = Tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]

#: Events that may wait before the reading thread waits, too.
MOST_WAITING = 1024


class EventFeed:
    """Events that were read and not yet used."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._events: Deque[Event] = collections.deque()
        self._waiter: Optional[_Waiter] = None
        self._is_over = False
        self._failure: Optional[BaseException] = None

    def push(self, batch: List[Event], may_exceed: Callable[[], bool]) -> None:
        """Adds events. Waits for room first, unless a command waits for its result: that may stand behind these events."""
        with self._changed:
            while len(self._events) >= MOST_WAITING and not self._is_over and not may_exceed():
                self._changed.wait()
            if self._is_over:
                return
            self._events.extend(batch)
            self._wake()

    def make_room(self) -> None:
        """Lets the reading thread look again whether it may go on."""
        with self._changed:
            self._changed.notify_all()

    def end(self, failure: Optional[BaseException]) -> None:
        """No more events come. With an error, the loop gets it after the events."""
        with self._changed:
            if not self._is_over:
                self._is_over, self._failure = True, failure
            self._wake()

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Waits until more events have made this true; false if the time is over."""
        with self._changed:
            return self._changed.wait_for(condition, seconds)

    def next(self) -> Optional[Event]:
        """The next event; none at the end."""
        with self._changed:
            while not self._events and not self._is_over:
                self._changed.wait()
            return self._pop()

    async def anext(self) -> Optional[Event]:
        """The same for a coroutine."""
        while True:
            with self._changed:
                if self._events or self._is_over:
                    return self._pop()
                if self._waiter is not None and not self._waiter[1].done():
                    raise RuntimeError("another loop reads these events already")
                loop = asyncio.get_running_loop()
                ready = loop.create_future()
                self._waiter = (loop, ready)
            await ready

    def _pop(self) -> Optional[Event]:
        if self._events:
            event = self._events.popleft()
            self._changed.notify_all()
            return event
        if self._failure is not None:
            failure, self._failure = self._failure, None  # once: a second read finds the end
            raise failure
        return None

    def _wake(self) -> None:
        self._changed.notify_all()
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            loop, ready = waiter
            try:
                loop.call_soon_threadsafe(_set_ready, ready)
            except RuntimeError:  # the loop is closed: no coroutine waits any more
                pass


def _set_ready(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)
