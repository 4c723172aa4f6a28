#!/usr/bin/env bash
# Which of these recorded runs failed, and how? Exits with 1 if any did, for a job that should then be red:
#
#   gemini -o stream-json -p "$prompt" > runs/nightly.jsonl
#   examples/failures.sh runs/*.jsonl
set -euo pipefail
lapidary=${LAPIDARY:-lapidary}

status=0
for run in "$@"; do
  # An empty file is a run that said nothing: --from keeps it from being refused.
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
