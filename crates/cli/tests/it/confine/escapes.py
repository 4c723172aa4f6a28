"""Tries many ways to change a directory that a confinement does not let it write, and says what came of each.

    escapes.py OUTSIDE INSIDE REPORT [restore]

OUTSIDE is the directory to change, INSIDE one that can be written. The report is a JSON object: how each way ended, `done` or the error.
With `restore`, OUTSIDE is made anew before each way: so that a way cannot fail because of the one before, if nothing is confined.
"""

import ctypes
import errno
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import threading

OUT, IN, REPORT = (os.path.abspath(path) for path in sys.argv[1:4])
COUNT = itertools.count()
libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, AT_EMPTY_PATH, AT_SYMLINK_FOLLOW = -100, 0x1000, 0x400
RENAME_EXCHANGE, RENAME_WHITEOUT, MS_BIND = 2, 4, 4096


def system(call, *args):
    args = [arg.encode() if isinstance(arg, str) else arg for arg in args]
    if getattr(libc, call)(*args) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def out(name):
    return os.path.join(OUT, name)


def own(name):
    """A fresh file of ours, in the directory that can be written."""
    path = os.path.join(IN, f"{name}-{os.getpid()}-{next(COUNT)}")
    with open(path, "w") as file:
        file.write("ours")
    return path


def fresh(name):
    path = own(name)
    os.unlink(path)
    return path


def write(path, flags):
    fd = os.open(path, flags, 0o644)
    os.write(fd, b"changed")
    os.close(fd)


def shell(line):
    ended = subprocess.run(["sh", "-c", line], cwd=IN, capture_output=True, text=True)
    if ended.returncode:
        raise OSError(ended.stderr.strip())


def bind(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)


def through_link(name, target):
    link = fresh("link")
    os.symlink(target, link)
    return os.path.join(link, name) if name else link


def at(flags, act):
    fd = os.open(OUT, flags)
    try:
        act(fd)
    finally:
        os.close(fd)


def unnamed():
    fd = os.open(IN, os.O_TMPFILE | os.O_RDWR, 0o600)
    system("linkat", AT_FDCWD, f"/proc/self/fd/{fd}", AT_FDCWD, out("unnamed"), AT_SYMLINK_FOLLOW)


def reopened():
    fd = os.open(out("victim"), os.O_RDONLY)
    write(f"/proc/self/fd/{fd}", os.O_WRONLY)


def from_there():
    here = os.getcwd()
    try:
        os.chdir(OUT)
        write("from-there", os.O_WRONLY | os.O_CREAT)
    finally:
        os.chdir(here)


def mounted():
    place = fresh("mount")
    os.mkdir(place)
    system("mount", OUT, place, None, MS_BIND, None)
    try:
        write(os.path.join(place, "mounted"), os.O_WRONLY | os.O_CREAT)
    finally:
        system("umount2", place, 2)


def in_namespace():
    shell(f"unshare -r -m sh -c 'mount --bind {OUT} {IN} && echo x > {IN}/namespaced'")


WRITE, CREATE = os.O_WRONLY, os.O_WRONLY | os.O_CREAT

WAYS = {
    "create a file": lambda: write(out("created"), CREATE),
    "create a file by ..": lambda: write(os.path.join(IN, "..", os.path.basename(OUT), "dots"), CREATE),
    "overwrite a file": lambda: write(out("victim"), WRITE),
    "append to a file": lambda: write(out("victim"), os.O_WRONLY | os.O_APPEND),
    "open to read and write": lambda: write(out("victim"), os.O_RDWR),
    "truncate on opening": lambda: os.open(out("victim"), os.O_RDONLY | os.O_TRUNC),
    "truncate by name": lambda: os.truncate(out("victim"), 1),
    "grow by name": lambda: os.truncate(out("victim"), 9999),
    "remove a file": lambda: os.unlink(out("victim")),
    "remove a directory": lambda: os.rmdir(out("empty")),
    "remove a tree": lambda: shutil.rmtree(OUT),
    "make a directory": lambda: os.mkdir(out("made")),
    "make a fifo": lambda: os.mkfifo(out("fifo")),
    "make a device": lambda: os.mknod(out("device"), 0o20666, os.makedev(1, 3)),
    "make a block device": lambda: os.mknod(out("block"), 0o60666, os.makedev(7, 99)),
    "make a link": lambda: os.symlink("/etc/passwd", out("symlink")),
    "bind a socket": lambda: bind(out("socket")),
    "bind a socket from there": lambda: at(os.O_RDONLY, lambda fd: bind(f"/proc/self/fd/{fd}/socket-2")),
    "move out": lambda: os.rename(own("moved"), out("moved")),
    "move out over a file": lambda: os.rename(own("over"), out("victim")),
    "move in": lambda: os.rename(out("victim"), fresh("stolen")),
    "move a directory in": lambda: os.rename(out("full"), fresh("stolen")),
    "rename there": lambda: os.rename(out("victim"), out("renamed")),
    "exchange": lambda: system("renameat2", AT_FDCWD, own("swap"), AT_FDCWD, out("victim"), RENAME_EXCHANGE),
    "leave a whiteout": lambda: system("renameat2", AT_FDCWD, out("victim"), AT_FDCWD, out("white"), RENAME_WHITEOUT),
    "hard link out": lambda: os.link(own("linked"), out("linked")),
    "hard link in, then write": lambda: (linked := fresh("in"), os.link(out("victim"), linked), write(linked, WRITE)),
    "hard link there": lambda: os.link(out("victim"), out("twice")),
    "write through a link to a file": lambda: write(through_link("", out("victim")), WRITE),
    "write through a link to a directory": lambda: write(through_link("by-link", OUT), CREATE),
    "create through a dangling link": lambda: write(through_link("", out("dangling")), CREATE),
    "write through /proc/self/fd": reopened,
    "create through /proc/self/fd": lambda: at(os.O_RDONLY, lambda fd: write(f"/proc/self/fd/{fd}/by-fd", CREATE)),
    "create through a descriptor": lambda: at(os.O_RDONLY, lambda fd: os.open("by-at", CREATE, dir_fd=fd)),
    "create through a bare descriptor": lambda: at(os.O_PATH, lambda fd: os.open("by-path", CREATE, dir_fd=fd)),
    "create through /proc/self/root": lambda: write("/proc/self/root" + out("by-root"), CREATE),
    "create through /proc/self/cwd": lambda: write("/proc/self/cwd/" + os.path.relpath(out("by-cwd")), CREATE),
    "create from there": from_there,
    "name an unnamed file": unnamed,
    "an unnamed file there": lambda: os.open(OUT, os.O_TMPFILE | os.O_RDWR, 0o600),
    "copy": lambda: shutil.copyfile(own("copied"), out("copied")),
    "redirect in a shell": lambda: shell(f"echo x > {out('redirected')}"),
    "append in a shell": lambda: shell(f"echo x >> {out('victim')}"),
    "touch a new file": lambda: shell(f"touch {out('touched')}"),
    "tee": lambda: shell(f"echo x | tee {out('teed')} > /dev/null"),
    "dd": lambda: shell(f"dd if=/dev/zero of={out('dd')} count=1 2>&1"),
    "install": lambda: shell(f"install -m 755 /bin/true {out('installed')}"),
    "sed in place": lambda: shell(f"sed -i s/as/was/ {out('victim')}"),
    "tar": lambda: shell(f"echo x > packed && tar cf - packed | tar xf - -C {OUT}"),
    "find and delete": lambda: shell(f"find {OUT} -name victim -delete && test ! -e {out('victim')}"),
    "mount it here": mounted,
    "mount it here in a namespace": in_namespace,
}


def tried(way):
    try:
        way()
        return "done"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))


def restore():
    """What the test has put there."""
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(out("full"))
    os.mkdir(out("empty"))
    for name in ["victim", "full/file"]:
        with open(out(name), "w") as file:
            file.write("as it was")


def plain(way):
    return tried(way)


def in_thread(way):
    told = []
    thread = threading.Thread(target=lambda: told.append(tried(way)))
    thread.start()
    thread.join()
    return told[0]


def forked(way, first, second):
    """In a child, or in the child of a child that has ended by then."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        first()
        if second and os.fork():
            os._exit(0)
        os.write(writes, tried(way).encode())
        os._exit(0)
    os.close(writes)
    os.waitpid(child, 0)
    with os.fdopen(reads, "rb") as told:
        return told.read().decode()


CARRIERS = {
    "plain": plain,
    "thread": in_thread,
    "fork": lambda way: forked(way, lambda: None, False),
    "setsid": lambda way: forked(way, os.setsid, False),
    "double fork": lambda way: forked(way, os.setsid, True),
}

report = {}
for carrier, carry in CARRIERS.items():
    for name, way in WAYS.items():
        if "restore" in sys.argv:
            restore()
        report[f"{carrier}: {name}"] = carry(way)
with open(REPORT, "w") as file:
    json.dump(report, file)
print("tried", len(report))
