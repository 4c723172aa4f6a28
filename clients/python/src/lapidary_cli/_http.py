"""A run of `lapidary serve`. Its events are server-sent events, which a connection that was cut goes on reading behind the last one."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from typing import Any, Iterator, List, Mapping, Optional
from urllib.parse import quote

from ._errors import LapidaryError
from ._lines import LineSplitter
from ._server import SILENCE_SECONDS, Server, read_json
from ._transport import CHUNK, LONGEST_LINE, Line, Transport

#: How often a connection is opened again without an event in between, and the pause before the first time. It doubles.
MOST_ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.1

#: How long the server may take to answer that it ends a run.
STOP_SECONDS = 20.0

#: Options that only a process of ours has.
CHILD_ONLY = (
    "allow", "args", "binary", "env", "model", "on_stderr", "output_schema", "raw", "resume", "trust_workspace",
)  # fmt: skip


class HttpTransport(Transport):
    """The events of a run of a server."""

    def __init__(
        self, server: Server, options: Mapping[str, Any], run: Optional[str] = None, body: Any = None, after: Optional[int] = None
    ) -> None:
        self._server = server
        #: None until the run exists.
        self._run = run
        self._body = body
        self._has_begun = threading.Event()
        self._options = options
        self._ends_run = run is None
        self._last = after
        self._stopped = threading.Event()
        self._response: Optional[http.client.HTTPResponse] = None

    @classmethod
    def for_run(cls, prompt: str, options: Mapping[str, Any]) -> HttpTransport:
        """A new run."""
        for name in CHILD_ONLY:
            if name in options:
                raise LapidaryError(
                    "unsupported_option",
                    f"`{name}` does not work with `server`",
                    "the options of `lapidary serve` have the bounds of its runs",
                )
        body = {
            "prompt": prompt,
            "agent": options.get("agent"),
            "cwd": None if options.get("cwd") is None else str(options["cwd"]),
            "permissionMode": options.get("permission_mode"),
            "rules": {"deny": list(options.get("deny") or ()), "ask": list(options.get("ask") or ())},
            "timeout": options.get("timeout"),
            "budget": options.get("budget"),
            "requestKey": options.get("request_key"),
        }
        body = {name: value for name, value in body.items() if value is not None}
        return cls(Server(options["server"]), options, body=body)

    @classmethod
    def for_watch(cls, run: str, server: Any, options: Mapping[str, Any], after: Optional[int]) -> HttpTransport:
        """A run that is there already."""
        return cls(Server(server), options, run, after=after)

    def batches(self) -> Iterator[List[Line]]:
        try:
            if self._run is None:
                self._run = self._server.call("POST", "/api/v1/runs", self._body)["id"]
        finally:
            self._has_begun.set()
        attempts = 0
        while True:
            problem: object = "the connection was closed"
            try:
                after = "" if self._last is None else f"?after={self._last}"
                with self._server.open("GET", self._path(f"/events{after}"), None, "text/event-stream", SILENCE_SECONDS) as response:
                    if response.status != 200:
                        read_json(response)
                    self._response = response
                    for batch in self._events(response):
                        attempts = 0
                        yield batch
                        if batch[-1].get("event") == "run_end":
                            return
            except (OSError, http.client.HTTPException, ValueError) as error:
                problem = error
            if self._stopped.is_set() and not self._ends_run:
                return
            if attempts >= MOST_ATTEMPTS:
                last = "" if self._last is None else f"; the last event of run `{self._run}` is {self._last}"
                raise self._server.gone(problem, last)
            threading.Event().wait(FIRST_PAUSE_SECONDS * 2**attempts)
            attempts += 1

    def _events(self, response: http.client.HTTPResponse) -> Iterator[List[Line]]:
        splitter = LineSplitter(self._options.get("max_line_bytes") or LONGEST_LINE)
        while True:
            data = response.read1(CHUNK)
            if not data:
                return
            batch = []
            for line in splitter.push(data):
                # Events are one `data` line each. Heartbeats have no `seq`.
                event = json.loads(line[len(b"data: ") :]) if line.startswith(b"data: ") else {}
                if "seq" in event:
                    self._last = event["seq"]
                    batch.append(event)
            if batch:
                yield batch

    def send(self, command: Line) -> Optional[Line]:
        self._has_begun.wait()
        kind = command["command"]
        try:
            if kind == "permission_response":
                answer = {name: value for name, value in command.items() if name not in ("command", "id", "requestId")}
                self._server.call("POST", self._path(f"/permissions/{quote(command['requestId'], safe='')}"), answer)
                return {"commandId": command.get("id"), "command": kind}
            result: Line = self._server.call("POST", self._path("/commands"), command)
            return result
        except LapidaryError as error:
            # Another client has answered, or the agent waits no longer.
            if error.status in (409, 410) and kind.endswith("_response"):
                return {"commandId": command.get("id"), "command": kind}
            raise

    def finish(self) -> None:
        pass

    def stop(self) -> None:
        # On a thread: a loop that is left, possibly that of coroutines, does not wait for the server.
        if not self._stopped.is_set():
            self._stopped.set()
            try:
                threading.Thread(target=self._stop, name="lapidary-stop", daemon=False).start()
            except RuntimeError:  # the interpreter ends
                self._stop()

    def _stop(self) -> None:
        self._has_begun.wait()
        if self._ends_run and self._run is not None:
            try:
                self._server.call("POST", self._path("/stop"), {}, STOP_SECONDS)
                return
            except LapidaryError:  # it is over, or the server is
                pass
        self._ends_run = False
        response = self._response
        sock = getattr(getattr(response, "fp", None), "raw", None)
        sock = getattr(sock, "_sock", None)
        if isinstance(sock, socket.socket):
            try:
                sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
            except OSError:
                pass

    def _path(self, rest: str) -> str:
        return f"/api/v1/runs/{quote(self._run or '', safe='')}{rest}"
