#!/usr/bin/env python3
"""Runs an agent on many prompts, several at a time, and keeps every outcome.

    pip install lapidary-cli
    examples/batch.py prompts.txt results.jsonl --agent claude --allow 'edit:src/**'

`prompts.txt` has one prompt per line. `results.jsonl` gets one object per prompt, as soon as it is there. A prompt that has a result
already is skipped, so a batch that was stopped goes on where it was. Exits with 1 if any run failed.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import List, Set

from lapidary_cli import LapidaryError, RunOptions, arun_result


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run an agent on many prompts.")
    parser.add_argument("prompts", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--agent", default="gemini")
    parser.add_argument("--allow", action="append", default=[], help="a rule such as `edit:src/**`; repeatable")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each run")
    parser.add_argument("--jobs", type=int, default=4, help="runs at a time")
    parser.add_argument("--args", action="append", default=[], help="another option of `lapidary run`; repeatable")
    return parser.parse_args()


def finished_prompts(results: Path) -> Set[str]:
    if not results.exists():
        return set()
    lines = results.read_text(encoding="utf-8").split("\n")
    return {json.loads(line)["prompt"] for line in lines if line}


async def main() -> int:
    given = read_arguments()
    options: RunOptions = {
        "agent": given.agent,
        "allow": given.allow,
        "timeout": given.timeout,
        "args": given.args,
    }
    done = finished_prompts(given.results)
    prompts: List[str] = [line for line in given.prompts.read_text(encoding="utf-8").split("\n") if line and line not in done]
    places = asyncio.Semaphore(given.jobs)
    completed = 0
    with given.results.open("a", encoding="utf-8") as results:

        async def work(prompt: str) -> None:
            nonlocal completed
            async with places:
                result = await arun_result(prompt, **options)
            completed += result["success"]
            results.write(json.dumps({"prompt": prompt, "result": result}) + "\n")
            results.flush()
            if not result["success"]:
                print(f"{prompt}: {result['outcome']}, {result['cause']}", file=sys.stderr)

        await asyncio.gather(*(work(prompt) for prompt in prompts))
    print(f"{completed} of {len(prompts)} completed")
    return 0 if completed == len(prompts) else 1


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except LapidaryError as error:
        sys.exit(f"error: {error}")
