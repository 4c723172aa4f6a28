"""An A2A agent on the official Python SDK, which speaks 0.3 and 1.0 on one port, for the tests of our client.

usage: python3 server.py streaming|polling

The first line of stdout is the port. With A2A_TOKEN set, requests need it as a bearer token; with A2A_CARD_TOKEN set, the card does,
too. The first word of a prompt says how the agent behaves.
"""

import asyncio
import json
import os
import socket
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import AgentCard, Message, Part, Role, Task, TaskState, TaskStatus
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette
from starlette.responses import JSONResponse


def say(line):
    print(json.dumps(line), flush=True)


class Agent(AgentExecutor):
    def __init__(self):
        self.cancelled = set()

    async def execute(self, context, event_queue):
        prompt = context.get_user_input()
        task = context.current_task
        say({"prompt": prompt, "contextId": context.context_id, "task": task.id if task else None})
        word = prompt.split(" ")[0]
        if word == "message":
            said = Message(message_id="m", role=Role.ROLE_AGENT, context_id=context.context_id)
            said.parts.append(Part(text=f"You said: {prompt}"))
            await event_queue.enqueue_event(said)
            return
        if not task:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            await event_queue.enqueue_event(Task(id=context.task_id, context_id=context.context_id, status=status))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        words = lambda text: updater.new_agent_message([Part(text=text)])
        await updater.start_work(words("thinking"))
        if word == "slow":
            for _ in range(600):
                if context.task_id in self.cancelled:
                    break
                await asyncio.sleep(0.05)
        elif word == "fail":
            await updater.failed(words("The disk is full."))
        else:
            await updater.add_artifact([Part(text="Hel")], artifact_id="a", name="out.txt", append=False, last_chunk=False)
            await updater.add_artifact([Part(text="lo")], artifact_id="a", name="out.txt", append=True, last_chunk=True)
            await updater.complete()

    async def cancel(self, context, event_queue):
        say({"cancelled": context.task_id})
        self.cancelled.add(context.task_id)
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class NeedsToken:
    """Refuses requests without their token."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        variable = "A2A_CARD_TOKEN" if scope.get("path") == "/card.json" else "A2A_TOKEN"
        token = os.environ.get(variable)
        headers = dict(scope.get("headers") or [])
        given = headers.get(b"authorization", b"").decode()
        if scope["type"] == "http" and token and given != f"Bearer {token}":
            await JSONResponse({"error": "who are you?"}, status_code=401)(scope, receive, send)
            return
        await self.app(scope, receive, send)


listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen()  # a client may come before the server's own loop begins
port = listening.getsockname()[1]
url = f"http://127.0.0.1:{port}/rpc"
card = ParseDict(
    {
        "name": "Test agent",
        "description": "Answers on order.",
        "version": "1.2.3",
        "capabilities": {"streaming": sys.argv[1] == "streaming"},
        "defaultInputModes": ["text"],
        "defaultOutputModes": ["text"],
        "skills": [{"id": "s", "name": "Greet", "description": "Says hello", "tags": ["t"]}],
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        ],
    },
    AgentCard(),
)
handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore(), agent_card=card)
routes = create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True)
routes += create_agent_card_routes(card, card_url="/card.json")
print(port, flush=True)
uvicorn.Server(uvicorn.Config(NeedsToken(Starlette(routes=routes)), log_level="error")).run(sockets=[listening])
