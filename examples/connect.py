#!/usr/bin/env python3
"""A small client of `lapidary connect`: it sends two prompts in one session and prints the answers as they arrive.
It allows the agent to read and search, and denies everything else.

    examples/connect.py --agent claude 'what is in here?' 'and what is it for?'
    examples/connect.py --agent examples/agent.py 'say hi; ask edit a.txt' 'say bye'
"""
import json
import os
import subprocess
import sys

*options, first, second = sys.argv[1:]
lapidary = subprocess.Popen([os.environ.get("LAPIDARY", "lapidary"), "connect", "--no-raw", *options],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")


def give(command, **fields):
    lapidary.stdin.write(json.dumps({"command": command, **fields}) + "\n")
    lapidary.stdin.flush()


give("send_message", id="first", text=first)
for line in lapidary.stdout:
    event = json.loads(line)
    if event["event"] == "stream_delta":
        print(event.get("textDelta", ""), end="", flush=True)
    elif event["event"] == "permission_request":
        allowed = event["toolKind"] in ("read", "search")
        give("permission_response", requestId=event["requestId"], allowed=allowed, message="only looking is allowed")
        print(f"\n[{event.get('title', event['toolName'])}: {'allowed' if allowed else 'denied'}]")
    elif event["event"] == "elicitation_request":  # this client has no user to fill in a form
        give("elicitation_response", requestId=event["requestId"], action="decline")
    elif event["event"] == "command_result":
        if event.get("isError"):
            print(f"\n[{event['command']}: {event['message']}]")
        if event.get("commandId") == "first":
            give("send_message", id="second", text=second)
        elif event.get("commandId") == "second":
            lapidary.stdin.close()  # no more commands: lapidary ends the agent and exits
    elif event["event"] == "run_end":
        print(f"\n{event['outcome']}: {event['cause']}")
sys.exit(lapidary.wait())  # 0 only if the last turn ended well
