"""The functions of this package."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union, cast

from ._child import ChildTransport
from ._connection import Connection
from ._errors import LapidaryError
from ._http import HttpTransport
from ._options import AgentOptions, RunOptions, ServerOptions, WatchOptions, check_prompt, command_line, given_options
from ._run import AgentRun, _in_thread
from ._server import Server
from .vocabulary import RunResult

if TYPE_CHECKING:  # type checkers know it without the package
    from typing_extensions import Unpack


def run(prompt: str, **options: Unpack[RunOptions]) -> AgentRun:
    """Runs an agent on a prompt: a process of ours, or a run of a server."""
    check_prompt(prompt)
    given = given_options(options, RunOptions)
    if "server" in given:
        return AgentRun(HttpTransport.for_run(prompt, given), given, "leader")
    if "on_permission" in given or "on_elicitation" in given:
        return _attended_run(prompt, given)
    return _ProcessRun(prompt, given, "events", "run_end")


def connect(**options: Unpack[AgentOptions]) -> Connection:
    """Starts an agent that speaks ACP, and keeps it for several prompts."""
    if "server" in options:
        raise LapidaryError("unsupported_option", "`connect` has no `server`", "over HTTP, use `run` with `server`, and `watch`")
    given = given_options(options, AgentOptions)
    return Connection(ChildTransport(command_line("connect", given), given), given, "leader")


def run_result(prompt: str, **options: Unpack[RunOptions]) -> RunResult:
    """Runs an agent on a prompt, and gives the outcome as one object. A run that fails is a result, not an error."""
    given = given_options(options, RunOptions)
    with _result_run(prompt, given) as started:
        last = None
        for last in started:
            pass
    return _result_of(started, last, given)


async def arun_result(prompt: str, **options: Unpack[RunOptions]) -> RunResult:
    """The same for a coroutine. Its cancellation ends the run."""
    given = given_options(options, RunOptions)
    async with _result_run(prompt, given) as started:
        last = None
        async for last in started:
            pass
    return await _in_thread(_result_of, started, last, given)


def watch(run_id: str, server: Union[str, ServerOptions], after: Optional[int] = None, **options: Unpack[WatchOptions]) -> AgentRun:
    """Reads the events of a run of a server, from its beginning or behind `after`. Leaving the loop does not end the run."""
    given = given_options(options, WatchOptions)
    return AgentRun(HttpTransport.for_watch(run_id, server, given, after), given, "watcher")


def _result_run(prompt: str, options: Mapping[str, Any]) -> AgentRun:
    check_prompt(prompt)
    for name in ("on_permission", "on_elicitation"):
        if name in options:
            raise LapidaryError("unsupported_option", f"`run_result` has no `{name}`", "use `run`, and its `run_end`")
    if "server" in options:
        return AgentRun(HttpTransport.for_run(prompt, options), options, "leader")
    return _ProcessRun(prompt, options, "result", "result")


def _result_of(started: AgentRun, last: Any, options: Mapping[str, Any]) -> RunResult:
    if "server" in options:
        path = f"/api/v1/runs/{started.id}/events?format=result"
        last = Server(options["server"]).call("GET", path)
    if last is None:
        raise LapidaryError("ended_early", "`lapidary` printed no result")
    return cast(RunResult, last)


def _attended_run(prompt: str, options: Mapping[str, Any]) -> AgentRun:
    """A run whose requests are answered: a connection with one prompt."""
    if "resume" in options:
        raise LapidaryError(
            "unsupported_option",
            "`resume` does not work with `on_permission`",
            "let rules decide (`allow`, `deny`), or use `connect` and the command `load_session` if the agent has it",
        )
    transport = ChildTransport(command_line("connect", options), options)
    started = AgentRun(transport, options, "leader")
    message = {"command": "send_message", "text": prompt}
    if "output_schema" in options:
        message["outputSchema"] = options["output_schema"]
    started._send(message).add_done_callback(lambda _: transport.finish())  # the `run_end` has the outcome
    return started


class _ProcessRun(AgentRun):
    """`lapidary run`, and the files that it needs."""

    def __init__(self, prompt: str, options: Mapping[str, Any], format: str, last: str) -> None:
        self._folder: Optional[str] = None
        args = [*command_line("run", options), f"--format={format}"]
        if "resume" in options:
            args.append(f"--resume={options['resume']}")
        if "output_schema" in options:
            self._folder = tempfile.mkdtemp(prefix="lapidary-")
            path = os.path.join(self._folder, "schema.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(options["output_schema"], file)
            args.append(f"--output-schema={path}")
        try:
            transport = ChildTransport([*args, "-"], options, prompt.encode("utf-8"), last)
        except BaseException:
            self._remove_folder()
            raise
        super().__init__(transport, options, "reader")

    def _read(self) -> None:
        try:
            super()._read()
        finally:
            self._remove_folder()

    def _remove_folder(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
