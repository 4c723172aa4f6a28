"""A pseudo-terminal between a test and a program.

Arguments: rows, columns, variables, the program and its arguments. Commands come on stdin, a line each: `type HEX`, `size ROWS COLUMNS`. What the
program shows goes to stdout. On stderr: first its pid; when it has ended, its exit code, and whether the terminal is as it was.
"""
import fcntl, os, pty, select, struct, sys, termios


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(columns), 0, 0))


pid, terminal = pty.fork()
if pid == 0:
    resize(0, sys.argv[1], sys.argv[2])
    os.execvp("env", ["env", "-i"] + sys.argv[3:])
print(pid, file=sys.stderr, flush=True)
commands, rest = [terminal, 0], b""
while True:
    ready, _, _ = select.select(commands, [], [])
    if terminal in ready:
        try:
            shown = os.read(terminal, 65536)
        except OSError:
            break
        if not shown:
            break
        os.write(1, shown)
    if 0 in ready:
        more = os.read(0, 65536)
        if not more:
            commands.remove(0)
        *lines, rest = (rest + more).split(b"\n")
        for line in lines:
            word, *words = line.decode().split(" ")
            if word == "type":
                os.write(terminal, bytes.fromhex(words[0]))
            else:
                resize(terminal, *words)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
flags = termios.tcgetattr(terminal)[3]
cooked = all(flags & flag for flag in (termios.ICANON, termios.ECHO, termios.ISIG))
print(code, "cooked" if cooked else "raw", file=sys.stderr, flush=True)
