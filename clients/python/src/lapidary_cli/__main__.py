"""The command `lapidary`: the binary, with our arguments."""

import os
import subprocess
import sys


def main() -> None:
    """Becomes the binary."""
    try:
        from . import LapidaryError, find_binary
    except ImportError as error:
        sys.exit("error: %s" % error)
    try:
        binary = find_binary()
    except LapidaryError as error:
        sys.exit("error: %s" % error)
    args = [binary] + sys.argv[1:]
    if sys.platform == "win32":
        sys.exit(subprocess.call(args))
    try:
        os.execv(binary, args)
    except OSError as error:
        sys.exit("error: cannot start `%s`: %s\nhint: the binary may be of another platform or C library" % (binary, error))


if __name__ == "__main__":
    main()
