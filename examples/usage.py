#!/usr/bin/env python3
"""Prints the tokens that each model used in the given recorded runs.

    examples/usage.py runs/*.jsonl
"""

import collections
import json
import os
import subprocess
import sys

LAPIDARY = os.environ.get("LAPIDARY", "lapidary")


def events(run):
    command = [LAPIDARY, "translate", "--format", "events", "--no-raw", run]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lapidary:
        yield from map(json.loads, lapidary.stdout)
    if lapidary.returncode:
        sys.exit(lapidary.returncode)  # lapidary has printed the error


tokens = collections.defaultdict(collections.Counter)
for run in sys.argv[1:]:
    for event in events(run):
        for model, usage in event.get("modelUsage", {}).items():
            tokens[model].update(usage)

for model, usage in sorted(tokens.items()):
    print(f"{model}: {usage['inputTokens']} in, {usage['outputTokens']} out, {usage['cacheReadTokens']} cached")
