#!/usr/bin/env python3
"""A small front end: it runs an agent, prints its text and tool calls as they happen, and reports the outcome.

    examples/frontend.py 'fix the failing test'
    examples/frontend.py --agent demo 'what can you do?'
"""
import json
import os
import subprocess
import sys

lapidary = os.environ.get("LAPIDARY", "lapidary")
run = subprocess.Popen([lapidary, "run", "--format", "events", "--no-raw", *sys.argv[1:]],
                       stdout=subprocess.PIPE, text=True)
calls, end = {}, {}
for line in run.stdout:
    event = json.loads(line)
    match event["event"]:
        case "stream_delta" if event["kind"] == "text":  # the other kinds are thoughts and message boundaries
            print(event.get("textDelta", ""), end="", flush=True)
        case "tool_invocation":
            calls[event["callId"]] = event["toolName"]
        case "tool_completion":
            print(f"\n[{calls.get(event['callId'])}: {event['status']}]")
        case "run_end":
            end = event
run.wait()
print(f"\n{end['outcome']}: {end['cause']}", f"({end['hint']})" if "hint" in end else "")
sys.exit(run.returncode)  # 0 only if the agent reports success *and* nothing contradicts it
