#!/usr/bin/env python3
"""An ACP agent without a model, for testing clients. It carries out the steps of the prompt.

    say WORDS            sends the words as text
    ask KIND PATH [ID]   asks for permission and sends the answer as text
    drop KIND PATH ID    asks for permission and cancels the request once the file exists
    form FIELD           asks the user to fill in a form and sends the answer as text
    write PATH [ID]      writes a file through the client and sends whether it succeeded
    wait PATH            waits until the file exists or the turn is cancelled
    hang | deaf          waits until the turn is cancelled | forever, ignoring a cancel
    refuse | die CODE    answers the prompt with an error | exits with the code

Semicolons separate the steps. Flags:

    options   offers model, effort and a switch as session options
    modes     offers session modes
    switch    offers the modes as a session option
    login     requires authentication before the first session
    silent    answers nothing but prompts
    bare      reports no capabilities
"""
import itertools
import json
import os
import queue
import sys
import threading
import time

flags, out = set(sys.argv[1:]), threading.Lock()
sessions, waiting, ids, names = {}, {}, itertools.count(), itertools.count(1)
is_known, options = threading.Event(), {"model": "small", "effort": "low", "careful": False, "mode": "build"}


def send(**message):
    with out:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(session, kind, **fields):
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **fields}})


def say(session, words):
    update(session, "agent_message_chunk", content={"type": "text", "text": words})


def request(method, params, number=None):
    number = next(ids) if number is None else number
    answer = queue.Queue()
    waiting.setdefault(number, []).append(answer)
    send(id=number, method=method, params=params)
    return answer.get()


def ask(session, kind, path, number=None):
    choices = [("always", "allow_always"), ("yes", "allow_once"), ("maybe", "allow_once"), ("no", "reject_once")]
    call = {"toolCallId": f"{kind}-{path}-{time.time()}", "title": f"{kind} {path}", "kind": kind, "status": "pending",
            "locations": [{"path": os.path.join(sessions[session]["cwd"], path)}]}
    params = {"sessionId": session, "toolCall": call,
              "options": [{"optionId": id, "name": id, "kind": kind} for id, kind in choices]}
    answer = request("session/request_permission", params, number and int(number))
    result = answer.get("result", {})
    mark = result.get("_meta", {}).get("lapidary", {})
    say(session, f"[{result.get('outcome', {}).get('optionId', 'cancelled')}: {mark.get('reason', '')}]")


def form(session, field):
    schema = {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}
    params = {"sessionId": session, "mode": "form", "message": f"What is the {field}?", "requestedSchema": schema}
    answer = request("elicitation/create", params)["result"]
    say(session, f"[{answer['action']}: {json.dumps(answer.get('content'))}]")


def give_up(path, number):
    while not os.path.exists(path):
        time.sleep(0.002)
    send(method="$/cancel_request", params={"requestId": int(number)})


def write(session, path, number=None):
    path = os.path.join(sessions[session]["cwd"], path)
    answer = request("fs/write_text_file", {"sessionId": session, "path": path, "content": "x"}, number and int(number))
    say(session, "[written]" if "result" in answer else f"[not written: {answer['error']['message']}]")


def step(session, words):
    verb, *rest = words.split()
    cancelled = sessions[session]["cancelled"]
    if verb == "say":
        say(session, words[4:])
    elif verb == "ask":
        ask(session, *rest)
    elif verb == "drop":
        threading.Thread(target=give_up, args=rest[1:], daemon=True).start()
        ask(session, *rest)
    elif verb == "form":
        form(session, *rest)
    elif verb == "write":
        write(session, *rest)
    elif verb == "wait":
        while not os.path.exists(rest[0]) and not cancelled.is_set():
            time.sleep(0.002)
    elif verb == "hang":
        cancelled.wait()
    elif verb == "deaf":
        threading.Event().wait()
    elif verb == "die":
        os._exit(int(rest[0]))
    elif verb == "refuse":
        return {"error": {"code": -32603, "message": "no, thank you"}}


def prompt(number, session, text):
    cancelled = sessions[session]["cancelled"]
    for words in filter(None, map(str.strip, text.split(";"))):
        try:
            answer = step(session, words)
        except (IndexError, TypeError, ValueError) as error:  # wrong arguments
            answer = {"error": {"code": -32602, "message": f"`{words}`: {error}"}}
        if answer or (cancelled.is_set() and "deaf" not in text):
            break
    send(id=number, **(answer or {"result": {"stopReason": "cancelled" if cancelled.is_set() else "end_turn"}}))


def listed():
    select = {"type": "select", "options": [{"value": v, "name": v} for v in ("small", "large", "low", "high")]}
    if "switch" in flags:
        modes = [{"value": v, "name": v} for v in ("build", "plan")]
        return [{"id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": options["mode"], "options": modes}]
    return [{"id": "llm", "name": "Model", "category": "model", "currentValue": options["model"], **select},
            {"id": "effort", "name": "Effort", "category": "thought_level", "currentValue": options["effort"], **select},
            {"id": "careful", "name": "Careful", "type": "boolean", "currentValue": options["careful"]}]


def opened(session, cwd):
    sessions[session] = {"cwd": cwd, "cancelled": threading.Event()}
    answer = {"sessionId": session}
    if flags & {"options", "switch"}:
        answer["configOptions"] = listed()
    if "modes" in flags:
        modes = [{"id": id, "name": id} for id in ("code", "plan")]
        answer["modes"] = {"currentModeId": "code", "availableModes": modes}
    return answer


def answer(method, params):
    if method == "initialize":
        able = {"loadSession": True, "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}}}
        able = {} if "bare" in flags else able
        return {"protocolVersion": 1, "agentCapabilities": able, "authMethods": [{"id": "key", "name": "Key"}]}
    if method == "authenticate":
        is_known.set()
        return {}
    if method == "session/new":
        return opened(f"s{next(names)}", params["cwd"])
    if method in ("session/load", "session/resume"):
        if method == "session/load":
            say(params["sessionId"], "as I said")
        return {key: value for key, value in opened(params["sessionId"], params["cwd"]).items() if key != "sessionId"}
    if method == "session/list":
        return {"sessions": [{"sessionId": "old", "cwd": params.get("cwd", "/")}], "nextCursor": params.get("cursor", "2")}
    if method == "session/set_config_option":
        options[{"llm": "model"}.get(params["configId"], params["configId"])] = params["value"]
        return {"configOptions": listed()}
    if method in ("session/close", "session/delete", "session/set_mode", "session/set_model"):
        return {"_meta": {"told": [method, params]}}
    return None


def take(message):
    method, params, number = message.get("method"), message.get("params", {}), message.get("id")
    if method is None:
        waiting[number].pop(0).put(message)
    elif method == "session/cancel":
        sessions[params["sessionId"]]["cancelled"].set()
    elif method == "session/prompt":
        session = params["sessionId"]
        sessions[session]["cancelled"].clear()
        text = "".join(block.get("text", "") for block in params["prompt"])
        threading.Thread(target=prompt, args=(number, session, text), daemon=True).start()
    elif number is None or "silent" in flags:
        return
    elif method == "session/new" and "login" in flags and not is_known.is_set():
        send(id=number, error={"code": -32000, "message": "log in first"})
    else:
        result = answer(method, params)
        send(id=number, **({"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}))


for line in sys.stdin:
    take(json.loads(line))
