"""Requests to `lapidary serve`."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
from typing import Any, Mapping, Optional, Union
from urllib.parse import urlsplit

from ._errors import LapidaryError

#: The server sends a heartbeat every ten seconds. A connection that is silent for longer than this is dead.
SILENCE_SECONDS = 30.0
#: How long an answer may take: a command of the run may wait for the turn.
ANSWER_SECONDS = 24 * 3600.0


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Server:
    """A server, and the token for it."""

    def __init__(self, server: Union[str, Mapping[str, Any]]) -> None:
        options: Mapping[str, Any] = {"url": server} if isinstance(server, str) else server
        self.url: str = options["url"]
        parts = urlsplit(self.url)
        if not (parts.scheme == "unix" and parts.path or parts.scheme in ("http", "https") and parts.hostname):
            raise LapidaryError(
                "server_address",
                f"invalid server address `{self.url}`",
                "give the `url` that `lapidary serve` prints: `http://…`, `https://…` or `unix:/…`",
            )
        self._token = options.get("token") or _read_token(options.get("token_file"))

    def open(self, method: str, path: str, body: Any = None, accept: Optional[str] = None, seconds: float = ANSWER_SECONDS) -> http.client.HTTPResponse:
        """Sends a request, and gives the response once its headers are there."""
        headers = {"Authorization": f"Bearer {self._token}"}
        if accept is not None:
            headers["Accept"] = accept
        data = None if body is None else json.dumps(body).encode("utf-8")
        if data is not None:
            headers["Content-Type"] = "application/json"
        connection = self._connection(seconds)
        connection.request(method, self._prefix() + path, data, headers)
        return connection.getresponse()

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        if self.url.startswith("unix:"):
            return _UnixConnection(self.url[len("unix:") :], seconds)
        parts = urlsplit(self.url)
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=seconds)
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)

    def _prefix(self) -> str:
        return "" if self.url.startswith("unix:") else urlsplit(self.url).path.rstrip("/")

    def call(self, method: str, path: str, body: Any = None, seconds: float = ANSWER_SECONDS) -> Any:
        """Sends a request, and gives the JSON of the response."""
        try:
            with self.open(method, path, body, seconds=seconds) as response:
                return read_json(response)
        except (OSError, http.client.HTTPException) as error:
            raise self.gone(error) from error

    def gone(self, error: object, more: str = "") -> LapidaryError:
        """The error for a server that does not answer."""
        hint = "start it with `lapidary serve`, and give the `url` that it prints"
        if isinstance(error, ssl.SSLCertVerificationError):
            hint = "name the file with the certificate of its authority in the variable `SSL_CERT_FILE`"
        return LapidaryError("server_gone", f"cannot reach the server at `{self.url}`: {error}{more}", hint)


def read_json(response: http.client.HTTPResponse) -> Any:
    """The JSON of a response; an error if the server refused the request."""
    data = response.read()
    try:
        value = json.loads(data)
    except ValueError:
        value = {"detail": data[:200].decode("utf-8", "replace")}
    if 200 <= response.status < 300:
        return value
    hint = value.get("hint")
    if response.status == 401:
        hint = "the token is not the server's: give the `token_file` that it prints"
    raise LapidaryError(
        "server_refused", f"the server refused ({response.status}): {value.get('detail', '')}", hint, response.status
    )


def _usual_token_file() -> str:
    own = os.environ.get("LAPIDARY_STATE_DIR", "")
    if own:
        return os.path.join(own, "serve", "token")
    state = os.environ.get("XDG_STATE_HOME", "")
    base = state if os.path.isabs(state) else os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "lapidary", "serve", "token")


def _read_token(given: Optional[str]) -> str:
    path = given or _usual_token_file()
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError as error:
        raise LapidaryError(
            "token_missing",
            f"cannot read the token file `{path}` ({error.strerror})",
            "give the `token_file` that `lapidary serve` prints"
            if given
            else "start the server with `lapidary serve`, or give `token_file` or `token`",
        ) from error
