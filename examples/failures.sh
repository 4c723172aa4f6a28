#!/usr/bin/env bash
# Prints which of the given recorded runs failed, and why. Exits with 1 if one did, so that a CI job fails:
#
#   gemini -o stream-json -p "$prompt" > runs/nightly.jsonl
#   examples/failures.sh runs/*.jsonl
set -euo pipefail
lapidary=${LAPIDARY:-lapidary}

status=0
for run in "$@"; do
  # An empty file is a run without output. Without --from, lapidary would refuse it as an unknown format.
  result=$("$lapidary" translate --from stream-json --format result "$run")
  case $result in
    '{"schema":"lapidary.result/1","success":true,'*) ;;
    *)
      verdict=$("$lapidary" translate --from stream-json --format text "$run" | grep '^—' | tail -n 1)
      echo "$(basename "$run"): ${verdict#— }"
      status=1
      ;;
  esac
done
exit $status
