"""Finds the binary, and checks that its version fits."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from typing import Dict, Optional

from ._errors import LapidaryError
from ._version import VERSION

_checked: Dict[str, bool] = {}


def find_binary() -> str:
    """The path of the binary: `LAPIDARY_BIN`, or the one in this package."""
    named = os.environ.get("LAPIDARY_BIN", "")
    if named:
        if os.path.exists(named):
            return named
        raise LapidaryError(
            "binary_missing",
            f"`LAPIDARY_BIN` names `{named}`, which does not exist",
            "correct it, or unset it to use the binary of the wheel",
        )
    name = "lapidary.exe" if sys.platform == "win32" else "lapidary"
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    if os.path.exists(path):
        return path
    raise LapidaryError(
        "binary_missing",
        f"this installation of `lapidary-cli` has no binary for `{sys.platform}-{platform.machine()}`",
        f"run `pip install --only-binary :all: --force-reinstall lapidary-cli=={VERSION}`; where there is no wheel, build the binary "
        "with `cargo install --locked lapidary-cli`, and name it in `LAPIDARY_BIN`",
    )


def check_binary(path: str) -> None:
    """Fails if the binary does not have the version of this client. Each binary is asked once."""
    if _checked.get(path):
        return
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=30, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        raise start_error(path, error) from error
    found = re.match(r"lapidary (\S+)", done.stdout.decode("utf-8", "replace"))
    if found is None or _compatible_part(found[1]) != _compatible_part(VERSION):
        what = "not Lapidary" if found is None else f"Lapidary {found[1]}"
        raise LapidaryError(
            "version_mismatch",
            f"`{path}` is {what}; this client needs {_compatible_part(VERSION)}.x",
            "correct `LAPIDARY_BIN`"
            if found is None
            else f"run `pip install lapidary-cli=={found[1]}`, or unset `LAPIDARY_BIN` to use the binary of the wheel",
        )
    _checked[path] = True


def start_error(path: str, error: BaseException, cwd: Optional[str] = None) -> LapidaryError:
    """Why the binary cannot be started. The system reports a missing directory as a missing program."""
    if cwd is not None and not os.path.isdir(cwd):
        return LapidaryError(
            "directory_missing", f"`cwd` is `{cwd}`, which is not a directory", "create it, or correct `cwd`"
        )
    hint = None
    if isinstance(error, FileNotFoundError) or "Exec format" in str(error):
        hint = (
            "the binary may be of another platform or C library: build it with `cargo install --locked lapidary-cli`, "
            "and name it in `LAPIDARY_BIN`"
        )
    elif isinstance(error, PermissionError):
        hint = "it must be an executable file"
    return LapidaryError("binary_missing", f"cannot start `{path}`: {error}", hint)


def _compatible_part(version: str) -> str:
    """Before 1.0 a minor version may change the contract, from 1.0 on a major one."""
    parts = re.split(r"[.+-]", version) + ["", ""]
    return f"0.{parts[1]}" if parts[0] == "0" else parts[0]
