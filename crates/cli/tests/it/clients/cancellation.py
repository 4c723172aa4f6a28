"""What ends when a block is left, a coroutine is cancelled, or a callback returns nothing. The argument is an ACP agent."""

import asyncio
import pickle
import sys
from typing import Any, Awaitable, Dict

from lapidary_cli import AgentOptions, LapidaryError, PermissionAnswer, arun_result, connect, run
from lapidary_cli.vocabulary import PermissionRequest

OPTIONS: AgentOptions = {"agent": sys.argv[1], "trust_workspace": True, "model": None}

with connect(**OPTIONS) as idle:
    idle.command({"command": "load_session", "sessionId": "old"})  # the agent says `as I said`
    print(idle.send("say one").text)
print("left when idle:", idle.end and idle.end["outcome"])

with connect(**OPTIONS) as busy:
    for event in busy.prompt("say two; deaf"):
        if event["event"] == "stream_delta":
            break
print("left in a turn:", busy.end and busy.end["outcome"])


async def cancel(work: Awaitable[object]) -> None:
    """Cancels work that would not end by itself."""
    try:
        await asyncio.wait_for(work, 0.3)
    except asyncio.TimeoutError:
        print("cancelled")


async def main() -> None:
    async with connect(**OPTIONS) as agent:
        command: Dict[str, Any] = {"command": "send_message", "text": "hang"}
        await cancel(agent.acommand(command))
        await agent.ainterrupt()
        await cancel(agent.asend("hang"))
        print((await agent.asend("say three")).text)
    print("left after it:", agent.end and agent.end["outcome"])
    await cancel(arun_result("hang", **OPTIONS))

    async def forget(request: PermissionRequest) -> Any:
        pass

    try:
        await run("fix the greeting", agent="demo", on_permission=forget).afinished()
    except TypeError as error:
        print(error)

    called, withdrawn = asyncio.Event(), asyncio.Event()

    async def hold(request: PermissionRequest) -> PermissionAnswer:
        called.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        return {"allowed": True}

    async for event in run("fix the greeting", agent="demo", on_permission=hold):
        if event["event"] == "permission_request":
            await called.wait()
            break
    await withdrawn.wait()
    print("withdrawn")


asyncio.run(main())
print(pickle.loads(pickle.dumps(LapidaryError("server_gone", "what", "hint"))).hint)
