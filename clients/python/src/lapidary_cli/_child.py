"""`lapidary run` and `lapidary connect` as a child process."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import threading
from typing import Any, Iterator, List, Mapping, Optional, Set

from ._binary import check_binary, find_binary, start_error
from ._errors import LapidaryError
from ._lines import LineSplitter
from ._transport import CHUNK, LONGEST_LINE, Line, Transport

#: Characters of stderr that are kept for an error.
STDERR_TAIL = 16 * 1024
#: How long `lapidary` may take to end its agent before it is killed; then its supervisor ends the agent.
STOP_SECONDS = 20.0

_living: "Set[subprocess.Popen[bytes]]" = set()


@atexit.register
def _end_children() -> None:
    for child in list(_living):
        if child.poll() is None:
            child.terminate()


class ChildTransport(Transport):
    """A process that prints events."""

    def __init__(self, args: List[str], options: Mapping[str, Any], prompt: Optional[bytes] = None, last: str = "run_end") -> None:
        self._options = options
        self._last = last
        self._lock = threading.Lock()
        self._stderr = ""
        self._stopped = False
        self._killer: Optional[threading.Timer] = None
        binary = options.get("binary") or find_binary()
        check_binary(binary)
        try:
            self._child = subprocess.Popen(
                [binary, *args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=options.get("cwd"),
                env=options.get("env"),
            )
        except OSError as error:
            raise start_error(binary, error, options.get("cwd")) from error
        _living.add(self._child)
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._errors.start()
        if prompt is not None:  # on a thread: a prompt may be larger than a pipe
            threading.Thread(target=self._give_prompt, args=(prompt,), daemon=True).start()

    def _give_prompt(self, prompt: bytes) -> None:
        self._write(prompt)
        self.finish()

    def _read_errors(self) -> None:
        assert self._child.stderr is not None
        report = self._options.get("on_stderr")
        while True:
            data = os.read(self._child.stderr.fileno(), CHUNK)
            if not data:
                return
            text = data.decode("utf-8", "replace")
            self._stderr = (self._stderr + text)[-STDERR_TAIL:]
            if report is not None:
                report(text)

    def batches(self) -> Iterator[List[Line]]:
        assert self._child.stdout is not None
        splitter = LineSplitter(self._options.get("max_line_bytes") or LONGEST_LINE)
        has_ended = False
        try:
            while True:
                data = os.read(self._child.stdout.fileno(), CHUNK)
                lines = splitter.push(data) if data else splitter.end()
                batch = [_parse(line) for line in lines]
                has_ended = has_ended or any(self._last in (line.get("event"), "result") for line in batch)
                if batch:
                    yield batch
                if not data:
                    break
        finally:
            self._reap()
        if not has_ended and not self._stopped:
            raise self._early_end()

    def _reap(self) -> None:
        """Waits for the process, which has closed its output or is not read any more."""
        if self._child.poll() is None and not self._stopped:
            try:
                self._child.wait(0.5)  # it is about to exit
            except subprocess.TimeoutExpired:
                self.stop()
        self._child.wait()
        if self._killer is not None:
            self._killer.cancel()
        _living.discard(self._child)
        self._errors.join(STOP_SECONDS)
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            try:
                if stream is not None:
                    stream.close()
            except OSError:  # what was not written yet has no reader
                pass

    def _early_end(self) -> LapidaryError:
        code = self._child.returncode
        how = f"by signal {-code}" if code < 0 else f"with code {code}"
        words = self._stderr.strip()
        return LapidaryError("ended_early", f"`lapidary` ended {how} before its `{self._last}`" + (f":\n{words}" if words else ""))

    def send(self, command: Line) -> None:
        self._write(json.dumps(command).encode("utf-8") + b"\n")

    def _write(self, data: bytes) -> None:
        with self._lock:
            try:
                assert self._child.stdin is not None
                self._child.stdin.write(data)
                self._child.stdin.flush()
            except (OSError, ValueError):  # `lapidary` has exited already: `run_end` has the cause
                pass

    def finish(self) -> None:
        with self._lock:
            try:
                assert self._child.stdin is not None
                self._child.stdin.close()
            except OSError:
                pass

    def stop(self) -> None:
        if self._stopped or self._child.poll() is not None:
            return
        self._stopped = True
        self._child.terminate()
        self._killer = threading.Timer(STOP_SECONDS, self._child.kill)
        self._killer.daemon = True
        self._killer.start()


def _parse(line: bytes) -> Line:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    shown = line[:200].decode("utf-8", "replace")
    raise LapidaryError("ended_early", f"`lapidary` printed a line that is not JSON: {shown}")
