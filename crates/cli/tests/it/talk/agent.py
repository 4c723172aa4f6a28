"""A scripted ACP agent. What it does is the scene in its first argument, in the words below.

Everything it says is said at once. A scene that is over reads until nobody speaks to it any more, and exits with 0.
"""

import json
import os
import signal
import sys
import time

OUT = sys.stdout.fileno()
IN = sys.stdin.buffer
HAS_SPOKEN = False
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def write(data):
    """Bytes or text, as they stand."""
    data = data.encode() if isinstance(data, str) else data
    while data:
        data = data[os.write(OUT, data):]


def line(data):
    write((data.encode() if isinstance(data, str) else data) + b"\n")


def send(**message):
    global HAS_SPOKEN
    HAS_SPOKEN |= "method" in message
    line(json.dumps({"jsonrpc": "2.0", **message}))


def hear(method=None):
    """The next message, or the next of a method. The end of them ends the agent."""
    while True:
        text = IN.readline()
        if not text:
            sys.exit(0)
        message = json.loads(text)
        if message.get("method") == "session/prompt":
            global HAS_SPOKEN
            HAS_SPOKEN = False
        if method is None or message.get("method") == method:
            return message


def reply(id):
    """The client's answer to a request of ours."""
    while True:
        message = hear()
        if "method" not in message and message["id"] == id:
            return message


def answer(request, result):
    send(id=request["id"], result=result)


def refuse(request, code, message, **more):
    send(id=request["id"], error={"code": code, "message": message, **more})


def hello(**more):
    answer(hear("initialize"), {"protocolVersion": 1, "agentCapabilities": {}, **more})


def session(**more):
    answer(hear("session/new"), {"sessionId": "s", **more})


def prompted():
    """The usual beginning: the prompt that it leads to."""
    hello()
    session()
    return hear("session/prompt")


def update(kind, /, session="s", **more):
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **more}})


def say(text):
    update("agent_message_chunk", content={"type": "text", "text": text})


def call(id, /, **more):
    update("tool_call", toolCallId=id, title="a call", **more)


def ask(id, method, **params):
    send(id=id, method=method, params={"sessionId": "s", **params})


def permission(id, tool="c1", options=OPTIONS, **more):
    ask(id, "session/request_permission", toolCall={"toolCallId": tool, "title": tool, "kind": "execute"}, options=options, **more)


def asked(id, method, **params):
    """Asks, and says what came of it, for whoever reads the recording."""
    ask(id, method, **params)
    told = reply(id)
    say(json.dumps(told.get("result", told.get("error"))))
    return told


def done(prompt, reason="end_turn"):
    """Ends the turn. A turn without a word is no good end, so that one is said where the scene has none."""
    if reason == "end_turn" and not HAS_SPOKEN:
        say("Done.")
    answer(prompt, {"stopReason": reason})


def ready():
    """Says to the test that it is here."""
    open("../ready", "w").close()


def for_ever():
    while True:
        time.sleep(600)


def stubborn():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


with open(sys.argv[1], encoding="utf-8") as scene:
    exec(compile(scene.read(), "scene", "exec"))
while IN.readline():
    pass
