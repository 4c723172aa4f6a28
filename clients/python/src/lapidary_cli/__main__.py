"""The command `lapidary`: the binary, with our arguments."""

import os
import subprocess
import sys

from . import LapidaryError, find_binary
from ._binary import start_error


def main() -> None:
    """Becomes the binary."""
    try:
        binary = find_binary()
    except LapidaryError as error:
        sys.exit(f"error: {error}")
    args = [binary] + sys.argv[1:]
    if sys.platform == "win32":
        sys.exit(subprocess.call(args))
    try:
        os.execv(binary, args)
    except OSError as error:
        sys.exit(f"error: {start_error(binary, error)}")


if __name__ == "__main__":
    main()
