"""A run: its events for a loop, its requests for callbacks, its commands. Each form is there for `for` and for `async for`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import itertools
import threading
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Dict, Iterator, Literal, Mapping, Optional, Set, Type, TypeVar, Union, cast

from ._errors import LapidaryError
from ._feed import EventFeed
from ._transport import Line, Transport
from .vocabulary import AgentEvent, Command, CommandResult, RunEnd

_Result = TypeVar("_Result")

#: The version of the events that this client reads.
EVENTS = "lapidary.events/1"
#: The options that answer requests.
CALLBACKS = {"permission_request": "on_permission", "elicitation_request": "on_elicitation"}
NO_CALLBACK = "the client answers no permission requests"
#: How long a rule may take to decide a request before the callback is asked. Its answer would have no effect.
RULE_SECONDS = 0.05
#: What a client may do with a run: read it; read it and send commands; lead it, and so answer every request.
Role = Literal["reader", "watcher", "leader"]


class AgentRun:
    """A run of an agent. A loop over it gets the events, with `for` or `async for`; leaving the loop ends the run.

    As a context manager it has ended when the block is left.
    """

    def __init__(self, transport: Transport, options: Mapping[str, Any], role: Role) -> None:
        self._transport = transport
        self._options = options
        self._role = role
        self._feed = EventFeed()
        self._pending: "Dict[str, concurrent.futures.Future[Line]]" = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._answers: "Dict[str, asyncio.Task[None]]" = {}
        self._decided: Set[str] = set()
        self._failure: Optional[BaseException] = None
        self._is_over = False
        #: The id of the run and of its recording, once the first event is read.
        self.id: Optional[str] = None
        #: The `run_end`, once it is read.
        self.end: Optional[RunEnd] = None
        self._reader = threading.Thread(target=self._read, name="lapidary-events", daemon=True)
        self._reader.start()

    def __iter__(self) -> Iterator[AgentEvent]:
        return _Events(self)

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        return _Events(self)

    def __enter__(self) -> AgentRun:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.stop()

    async def __aenter__(self) -> AgentRun:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.astop()

    def stop(self) -> None:
        """Ends the run and every process of its agent."""
        self._abandon()
        self._reader.join()

    async def astop(self) -> None:
        """The same for a coroutine."""
        await asyncio.get_running_loop().run_in_executor(None, self.stop)

    def finished(self) -> RunEnd:
        """Reads the events that are left, and gives the `run_end`."""
        with self:
            for _ in self:
                pass
        return self._known_end()

    async def afinished(self) -> RunEnd:
        """The same for a coroutine. Its cancellation ends the run."""
        async with self:
            async for _ in self:
                pass
        return self._known_end()

    def command(self, command: Union[Command, Mapping[str, Any]]) -> CommandResult:
        """Sends a command of `connect`, and gives its result; an error if the command fails."""
        return _checked(self._send(command).result())

    async def acommand(self, command: Union[Command, Mapping[str, Any]]) -> CommandResult:
        """The same for a coroutine."""
        waiting = await _in_thread(self._send, command)
        return _checked(await asyncio.wrap_future(waiting))

    def interrupt(self) -> None:
        """Ends the turn."""
        self.command({"command": "interrupt"})

    async def ainterrupt(self) -> None:
        """The same for a coroutine."""
        await self.acommand({"command": "interrupt"})

    def _known_end(self) -> RunEnd:
        if self.end is None:
            raise LapidaryError("ended_early", "the run was stopped before its `run_end` was read")
        return self.end

    def _abandon(self) -> None:
        """Ends the run without waiting: the reading thread sees its end."""
        if not self._is_over:
            self._transport.stop()
            self._feed.end(None)
        self._withdraw_answers()

    def _withdraw_answers(self) -> None:
        """Cancels callbacks that are coroutines: no answer is needed any more."""
        answers, self._answers = self._answers, {}
        for task in answers.values():
            if not task.done():
                try:
                    task.get_loop().call_soon_threadsafe(task.cancel)
                except RuntimeError:  # the loop is closed, and its tasks with it
                    pass

    # On the reading thread.

    def _read(self) -> None:
        failure: Optional[BaseException] = None
        batches = self._transport.batches()
        try:
            for batch in batches:
                for event in batch:
                    self._note(event)
                self._feed.push(batch, lambda: bool(self._pending))
        except BaseException as error:  # the reader of the events gets it
            failure = error
        try:
            cast(Any, batches).close()
        finally:
            self._is_over = True
            with self._lock:
                pending, self._pending = self._pending, {}
            for waiting in pending.values():
                waiting.set_exception(_over_error(self.end, "the command"))
            self._feed.end(self._failure or failure)

    def _note(self, event: Line) -> None:
        schema = event.get("schema")
        if event.get("event") is not None and schema not in (None, EVENTS):
            raise LapidaryError(
                "version_mismatch", f"the events are `{schema}`; this client reads `{EVENTS}`", "install the client of that version"
            )
        if self.id is None and isinstance(event.get("id"), str):
            self.id = event["id"].rpartition("-")[0]
        if event.get("event") == "command_result":
            self._settle(event.get("commandId"), event)
        elif event.get("event") in ("permission_decision", "elicitation_result"):
            self._decided.add(event["requestId"])
        elif event.get("event") == "run_end":
            self.end = cast(RunEnd, event)

    def _settle(self, command_id: Any, result: Line) -> None:
        with self._lock:
            waiting = self._pending.pop(command_id, None) if isinstance(command_id, str) else None
        if waiting is not None:
            waiting.set_result(result)

    # On the thread of the loop.

    def _new_id(self) -> str:
        return f"client-{next(self._numbers)}"

    def _send(self, command: Mapping[str, Any]) -> "concurrent.futures.Future[Line]":
        if self._role == "reader":
            raise LapidaryError(
                "unsupported_option", "this run takes no commands", "start it with `connect`, or with `on_permission`"
            )
        line = dict(command)
        name = line.setdefault("id", self._new_id())
        waiting: "concurrent.futures.Future[Line]" = concurrent.futures.Future()
        waiting.set_running_or_notify_cancel()  # the coroutine that waits may be cancelled, the command cannot
        with self._lock:
            if self._is_over:
                raise _over_error(self.end, f"`{line.get('command')}`")
            self._pending[name] = waiting
        self._feed.make_room()
        try:
            result = self._transport.send(line)
        except BaseException:
            with self._lock:
                self._pending.pop(name, None)
            raise
        if result is not None:
            self._settle(name, result)
        return waiting

    def _next(self) -> Optional[Line]:
        event = self._feed.next()
        if event is not None and self._is_request(event):
            if not self._feed.wait_for(lambda: event["requestId"] in self._decided, RULE_SECONDS):
                self._answer(event, self._ask(event))
        return event

    async def _anext(self) -> Optional[Line]:
        event = await self._feed.anext()
        if event is None:
            self._withdraw_answers()
            return None
        request = event.get("requestId", "")
        if event.get("event") in ("permission_decision", "elicitation_result"):
            task = self._answers.pop(request, None)
            if task is not None and not task.done():
                task.cancel()
        elif self._is_request(event):
            self._answers[request] = asyncio.ensure_future(self._answer_later(event))
        return event

    def _is_request(self, event: Line) -> bool:
        callback = CALLBACKS.get(event.get("event", ""))
        if callback is None or self._role == "reader" or self._is_over:
            return False
        return self._role == "leader" or callback in self._options  # without a callback only the leader answers

    def _ask(self, event: Line) -> Any:
        try:
            answer = self._call(event)
            if inspect.isawaitable(answer):
                raise TypeError("a callback that is a coroutine function needs `async for`")
            return _answer_fields(event, answer)
        except BaseException:
            self._abandon()
            raise

    async def _answer_later(self, event: Line) -> None:
        await asyncio.sleep(RULE_SECONDS)
        if event["requestId"] in self._decided:
            return
        try:
            answer = self._call(event)
            if inspect.isawaitable(answer):
                answer = await answer
            fields = _answer_fields(event, answer)
        except Exception as error:
            self._failure = error  # for the loop, when the run has ended
            self._transport.stop()
            return
        await _in_thread(self._answer, event, fields)

    def _call(self, event: Line) -> Any:
        if event["event"] == "elicitation_request":
            callback = self._options.get("on_elicitation")
            return {"action": "decline"} if callback is None else callback(event)
        callback = self._options.get("on_permission")
        return {"allowed": False, "message": NO_CALLBACK} if callback is None else callback(event)

    def _answer(self, event: Line, fields: Mapping[str, Any]) -> None:
        command = event["event"].replace("_request", "_response")
        try:
            self._send({"command": command, "requestId": event["requestId"], **fields})
        except LapidaryError:  # it is decided elsewhere, or the run is over: the events say so
            pass


class _Events:
    """A loop over a run. A loop that is given up ends the run."""

    def __init__(self, run: AgentRun) -> None:
        self._run = run

    def __iter__(self) -> _Events:
        return self

    def __aiter__(self) -> _Events:
        return self

    def __next__(self) -> AgentEvent:
        event = self._run._next()
        if event is None:
            raise StopIteration
        return cast(AgentEvent, event)

    async def __anext__(self) -> AgentEvent:
        event = await self._run._anext()
        if event is None:
            raise StopAsyncIteration
        return cast(AgentEvent, event)

    def __del__(self) -> None:
        self._run._abandon()


async def _in_thread(function: Callable[..., _Result], *args: Any) -> _Result:
    """Over HTTP a command waits for its response, and the event loop must not."""
    return await asyncio.get_running_loop().run_in_executor(None, function, *args)


def _answer_fields(event: Line, answer: Any) -> Mapping[str, Any]:
    """The fields of a callback's answer. Without this check a callback that forgets its `return` would hold up the agent."""
    callback, field = CALLBACKS[event["event"]], "action" if event["event"] == "elicitation_request" else "allowed"
    fields = {"allowed": answer} if isinstance(answer, bool) and field == "allowed" else answer
    if not isinstance(fields, Mapping) or field not in fields:
        raise TypeError(f"`{callback}` returned {answer!r}: a dictionary with `{field}` is an answer")
    return fields


def _over_error(end: Optional[RunEnd], name: str) -> LapidaryError:
    """Why a command has no result: the run has ended, for the reason of its `run_end`."""
    reason = None if end is None else end.get("message")
    what = f"{name} failed: the run has ended" + ("" if reason is None else f": {reason}")
    return LapidaryError("command_failed", what, None if end is None else end.get("hint"))


def _checked(result: Line) -> CommandResult:
    if result.get("isError"):
        reason = result.get("message", "no reason was given")
        raise LapidaryError("command_failed", f"`{result.get('command')}` failed: {reason}")
    return cast(CommandResult, result)
