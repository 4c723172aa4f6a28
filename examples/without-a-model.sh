#!/usr/bin/env bash
# Runs your tests without a model: record an agent once, then use the recording as the agent.
#
#   lapidary record --record-dir tests/agents --run-id fix -- gemini -o stream-json -p 'fix the failing test'
#   examples/without-a-model.sh tests/agents/fix your-test-suite
set -euo pipefail
lapidary=$(command -v "${LAPIDARY:-lapidary}")
recording=$(realpath "$1")
shift

# GEMINI_CLI_PATH takes a program without arguments, so write a script that starts the replay.
agents=$(mktemp -d)
trap 'rm -rf "$agents"' EXIT
printf '#!/bin/sh\nexec "%s" replay --fast "%s" "$@"\n' "$lapidary" "$recording" > "$agents/gemini"
chmod +x "$agents/gemini"

GEMINI_CLI_PATH="$agents/gemini" PATH="$agents:$PATH" "$@"
