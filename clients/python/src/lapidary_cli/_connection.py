"""A conversation with an agent: one prompt after the other, in one session or several."""

from __future__ import annotations

import concurrent.futures
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterator, Mapping, NamedTuple, Optional, Set, Type, cast

from ._errors import LapidaryError
from ._options import PromptOptions, check_prompt, given_options
from ._run import AgentRun, Role, _checked
from ._transport import Line, Transport
from .vocabulary import AgentEvent, CommandResult, RunEnd

if TYPE_CHECKING:  # type checkers know it without the package
    from typing_extensions import Unpack

#: Options of a prompt, and their names in `send_message`.
FIELDS = {"session_id": "sessionId", "content": "content", "output_schema": "outputSchema", "schema_repairs": "schemaRepairs"}


class Turn(NamedTuple):
    """A turn that is over."""

    #: The agent's text in this turn.
    text: str
    #: The `command_result` of the prompt: `result` has the stop reason, `answer` the data if there was a schema.
    result: CommandResult


class Connection(AgentRun):
    """An agent that is kept. `close` ends it, and so does the end of a `with` block."""

    def __init__(self, transport: Transport, options: Mapping[str, Any], role: Role) -> None:
        #: Prompts whose loop was left. The rest of their events is not the next turn's.
        self._left: Set[str] = set()
        #: The prompt whose turn is not over.
        self._current: Optional[str] = None
        super().__init__(transport, options, role)

    def __enter__(self) -> Connection:
        return self

    async def __aenter__(self) -> Connection:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        try:
            if error is None and not self._pending and self.end is None:
                self.close()
        finally:
            self.stop()

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            if error is None and not self._pending and self.end is None:
                await self.aclose()
        finally:
            await self.astop()

    def prompt(self, text: str, **options: Unpack[PromptOptions]) -> TurnEvents:
        """Sends a prompt. A loop, `for` or `async for`, gets the events until its turn is over; leaving it interrupts the turn."""
        check_prompt(text)
        return TurnEvents(self, text, given_options(options, PromptOptions))

    def send(self, text: str, **options: Unpack[PromptOptions]) -> Turn:
        """Sends a prompt, and gives its turn."""
        turn = self.prompt(text, **options)
        try:
            answer = "".join(_text_of(event) for event in turn)
        finally:
            turn._leave()  # not by its deletion: a traceback may hold this frame
        return Turn(answer, turn.result())

    async def asend(self, text: str, **options: Unpack[PromptOptions]) -> Turn:
        """The same for a coroutine. Its cancellation interrupts the turn."""
        turn = self.prompt(text, **options)
        try:
            answer = "".join([_text_of(event) async for event in turn])
        finally:
            turn._leave()
        return Turn(answer, turn.result())

    def close(self) -> RunEnd:
        """Ends the agent when its work is done, and gives the `run_end`."""
        self._transport.finish()
        while self._next() is not None:
            pass
        self._reader.join()
        return self._known_end()

    async def aclose(self) -> RunEnd:
        """The same for a coroutine."""
        self._transport.finish()
        while await self._anext() is not None:
            pass
        return self._known_end()


class TurnEvents:
    """The events of one turn."""

    def __init__(self, connection: Connection, text: str, options: Mapping[str, Any]) -> None:
        self._connection = connection
        self._id = connection._new_id()
        self._is_over = True  # until it has begun
        if connection._current is not None and not connection._is_over:
            raise LapidaryError(
                "command_failed",
                "another turn of this connection is not over",
                "read its events to the end, or drop the object that `prompt` returned; two turns at a time need two connections",
            )
        fields = {FIELDS[name]: value for name, value in options.items()}
        self._result: "concurrent.futures.Future[Line]" = connection._send(
            {**fields, "command": "send_message", "id": self._id, "text": text}
        )
        connection._current = self._id
        self._is_over = False

    def result(self) -> CommandResult:
        """The `command_result` of the prompt, after the loop; an error if the agent refused it."""
        if not self._result.done():
            raise LapidaryError("command_failed", "the turn is not over: read its events first")
        return _checked(self._result.result())

    def __iter__(self) -> Iterator[AgentEvent]:
        return self

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        return self

    def __next__(self) -> AgentEvent:
        while not self._is_over:
            event = self._connection._next()
            if event is None:
                break
            if not self._is_of_left_turn(event):
                return self._seen(event)
        raise StopIteration

    async def __anext__(self) -> AgentEvent:
        while not self._is_over:
            event = await self._connection._anext()
            if event is None:
                break
            if not self._is_of_left_turn(event):
                return self._seen(event)
        raise StopAsyncIteration

    def _is_of_left_turn(self, event: Line) -> bool:
        left = self._connection._left
        if not left:
            return False
        if event.get("event") == "command_result":
            left.discard(event.get("commandId", ""))
        return True

    def _seen(self, event: Line) -> AgentEvent:
        if event.get("event") == "command_result" and event.get("commandId") == self._id:
            self._end()
        return cast(AgentEvent, event)

    def __del__(self) -> None:
        self._leave()

    def _leave(self) -> None:
        """Interrupts the turn, unless it is over."""
        if not self._is_over and not self._connection._is_over:
            self._end()
            self._connection._left.add(self._id)
            try:
                self._connection._send({"command": "interrupt"})
            except LapidaryError:  # the agent has ended by itself
                pass

    def _end(self) -> None:
        self._is_over = True
        self._connection._current = None


def _text_of(event: AgentEvent) -> str:
    text: Optional[str] = None
    if "acp.replay" in event.get("extensions", {}):  # the history of a loaded session
        return ""
    if event["event"] == "stream_delta" and event["kind"] == "text":
        text = event.get("textDelta")
    elif event["event"] == "text" and event["kind"] == "text":
        text = event["text"]
    return text or ""
