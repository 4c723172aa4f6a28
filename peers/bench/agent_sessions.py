"""Writes a home with sessions of Claude Code, Codex CLI, Qwen Code and opencode, a quarter each, for `cargo xtask bench`.

    agent_sessions.py HOME SESSIONS BYTES_EACH [--one codex]

The records have the shapes of the captures in `fixtures/sessions`, the words come from a seed: the same arguments give the same
files. Every 501st session has the word `quellenbach` in it once. `--one codex` writes a single rollout of that size instead.
"""

import json
import random
import sqlite3
import sys
from pathlib import Path

SEED = 20261118
NEEDLE = "quellenbach"
TABLES = """
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text, name text, icon_url text, icon_color text, time_created integer NOT NULL, time_updated integer NOT NULL, time_initialized integer, sandboxes text NOT NULL, commands text);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL, title text NOT NULL, version text NOT NULL, share_url text, summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text, revert text, permission text, time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""


class Words:
    """Texts of words that are as frequent as words of prose are, with names and numbers of code among them."""

    def __init__(self, chance):
        self.chance = chance
        syllables = [a + b for a in "bdfgklmnprstvw" for b in ("a", "e", "i", "o", "u", "en", "er", "st")]
        make = lambda: "".join(chance.choices(syllables, k=chance.randint(1, 4)))
        self.words = list(dict.fromkeys(make() for _ in range(9000)))
        self.weights = []
        total = 0.0
        for rank in range(len(self.words)):
            total += 1 / (rank + 3)
            self.weights.append(total)

    def sentence(self, count):
        return " ".join(self.chance.choices(self.words, cum_weights=self.weights, k=count))

    def output(self, size):
        lines = []
        while size > 0:
            line = f"{self.chance.randint(1, 900)}: {self.sentence(9)}(x_{self.chance.randint(0, 5000)});"
            lines.append(line)
            size -= len(line) + 2
        return "\n".join(lines)


class Session:
    """One session: steps of a model until it has its size."""

    def __init__(self, words, number, size):
        self.words, self.number, self.size = words, number, size
        self.project = f"/p/{number % 20}"
        self.day = 1 + number % 28
        self.id = f"{number:08x}-0000-4000-8000-{number:012x}"
        self.clock = 0
        self.prompt = f"{words.sentence(8)} {number}"
        self.needle = number % 501 == 7

    def time(self):
        self.clock += 1
        at = self.clock
        return f"2026-01-{self.day:02}T{10 + at // 3600 % 12}:{at // 60 % 60:02}:{at % 60:02}.{self.number % 1000:03}Z"

    def result(self):
        size = self.words.chance.choice((200, 800, 2500, 6000))
        text = self.words.output(min(size, max(200, self.size // 8)))
        if self.needle:
            self.needle = False
            text += f"\nthe {NEEDLE} is here"
        return text


def line(record):
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def claude(session, out):
    parent, step = None, 0

    def record(kind, name, message, **more):
        nonlocal parent
        text = line({"parentUuid": parent, "isSidechain": False, "type": kind, "message": message, "uuid": name,
                     "timestamp": session.time(), **more, "userType": "external", "cwd": session.project, "sessionId": session.id,
                     "version": "2.1.312", "gitBranch": "main"})
        parent = name
        return out(text)

    written = record("user", f"u-{session.id}", {"role": "user", "content": session.prompt})
    while written < session.size:
        step += 1
        name = f"{session.number}-{step}"
        usage = {"input_tokens": 10 + step, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 20000 + step, "output_tokens": 200 + step}
        content = [{"type": "text", "text": session.words.sentence(15)},
                   {"type": "tool_use", "id": f"toolu_{name}", "name": "Read", "input": {"file_path": f"/p/{step % 9}.rs"}}]
        record("assistant", f"a-{name}", {"id": f"msg_{name}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
                                          "content": content, "stop_reason": "tool_use", "usage": usage}, requestId=f"req_{name}")
        text = session.result()
        written = record("user", f"r-{name}", {"role": "user", "content": [{"tool_use_id": f"toolu_{name}", "type": "tool_result", "content": text}]},
                         toolUseResult={"type": "text", "file": {"filePath": f"/p/{step % 9}.rs", "content": text}})


def codex(session, out):
    step, total = 0, 0

    def record(kind, payload):
        return out(line({"timestamp": session.time(), "type": kind, "payload": payload}))

    record("session_meta", {"id": session.id, "timestamp": "2026-01-01T10:00:00.000Z", "cwd": session.project, "originator": "codex_exec", "cli_version": "0.166.0", "model_provider": "openai"})
    record("turn_context", {"cwd": session.project, "model": "gpt-5.1-codex"})
    written = record("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": session.prompt}]})
    while written < session.size:
        step += 1
        total += 1
        call = f"call_{session.number}_{step}"
        record("response_item", {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": session.words.sentence(15)}]})
        record("response_item", {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": f"cat {step % 9}.rs"}), "call_id": call})
        record("response_item", {"type": "function_call_output", "call_id": call, "output": session.result()})
        usage = lambda times: {"input_tokens": 9000 * times, "cached_input_tokens": 500 * times, "output_tokens": 300 * times, "reasoning_output_tokens": 0, "total_tokens": 9300 * times}
        written = record("event_msg", {"type": "token_count", "info": {"total_token_usage": usage(total), "last_token_usage": usage(1), "model_context_window": 258400}, "rate_limits": None})


def qwen(session, out):
    parent, step = None, 0

    def record(kind, provenance, message, **more):
        nonlocal parent
        name = f"{session.id}-{session.clock}"
        text = line({"uuid": name, "parentUuid": parent, "sessionId": session.id, "timestamp": session.time(), "type": kind,
                     "provenance": provenance, "cwd": session.project, "version": "0.24.0", "message": message, **more})
        parent = name
        return out(text)

    written = record("user", "real_user", {"role": "user", "parts": [{"text": session.prompt}]})
    while written < session.size:
        step += 1
        call = f"call_{session.number}_{step}"
        used = {"promptTokenCount": 900 + step, "candidatesTokenCount": 30, "thoughtsTokenCount": 6, "totalTokenCount": 930 + step, "cachedContentTokenCount": 20}
        parts = [{"text": session.words.sentence(15)}, {"functionCall": {"id": call, "name": "read_file", "args": {"file_path": f"/p/{step % 9}.rs"}}}]
        record("assistant", "assistant_output", {"role": "model", "parts": parts}, model="qwen3-coder-plus", usageMetadata=used)
        result = {"functionResponse": {"id": call, "name": "read_file", "response": {"output": session.result()}}}
        written = record("tool_result", "tool_result", {"role": "user", "parts": [result]},
                         toolCallResult={"callId": call, "status": "success", "resultDisplay": "", "executionStatus": "success"})


def opencode(session, database):
    at = 1767261600000 + session.number * 100000
    ident = f"ses_{session.number:022x}"
    text = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    counter, written = 0, 0

    def message(data):
        nonlocal counter
        counter += 1
        name = f"msg_{session.number:012x}{counter:08x}"
        database.execute("INSERT INTO message VALUES (?,?,?,?,?)", (name, ident, at + counter, at + counter, text(data)))
        return name

    def part(of, data):
        nonlocal counter, written
        counter += 1
        data = text(data)
        written += len(data)
        database.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", (f"prt_{session.number:012x}{counter:08x}", of, ident, at + counter, at + counter, data))

    first = message({"role": "user", "time": {"created": at}, "agent": "build", "model": {"providerID": "mock", "modelID": "mock-model"}})
    part(first, {"type": "text", "text": session.prompt})
    step = 0
    while written < session.size:
        step += 1
        tokens = {"total": 132, "input": 82, "output": 30, "reasoning": 0, "cache": {"write": 0, "read": 20}}
        of = message({"parentID": first, "role": "assistant", "mode": "build", "agent": "build", "path": {"cwd": session.project, "root": session.project}, "cost": 0,
                      "tokens": tokens, "modelID": "mock-model", "providerID": "mock", "time": {"created": at + step, "completed": at + step}, "finish": "tool-calls"})
        part(of, {"type": "text", "text": session.words.sentence(15)})
        part(of, {"type": "tool", "tool": "read", "callID": f"call_{step}", "state": {"status": "completed", "input": {"filePath": f"/p/{step % 9}.rs"},
                  "output": session.result(), "metadata": {"truncated": False}, "title": "x.rs", "time": {"start": at, "end": at + 1}}})
    database.execute("INSERT INTO session VALUES (?,?,NULL,?,?,?,?,NULL,0,0,0,NULL,NULL,NULL,?,?,NULL,NULL)",
                     (ident, "global", "slug", session.project, f"New session - {at}", "1.18.33", at, at + counter))


def write(path, make, session):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        written = 0

        def out(text):
            nonlocal written
            written += len(text)
            file.write(text)
            return written

        make(session, out)


def main(home, sessions, size):
    home = Path(home)
    chance = random.Random(SEED)
    words = Words(chance)
    rollout = lambda it: home / f".codex/sessions/2026/01/{it.day:02}/rollout-2026-01-{it.day:02}T10-00-00-{it.id}.jsonl"
    if sys.argv[4:] == ["--one", "codex"]:
        only = Session(words, 1, size)
        return write(rollout(only), codex, only)
    place = home / ".local/share/opencode"
    place.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(place / "opencode.db")
    database.executescript(TABLES)
    database.execute("INSERT INTO project (id, worktree, time_created, time_updated, sandboxes) VALUES ('global', '/', 0, 0, '[]')")
    for number in range(sessions):
        session = Session(words, number, size)
        folder = session.project.replace("/", "-")
        match number % 4:
            case 0:
                write(home / f".claude/projects/{folder}/{session.id}.jsonl", claude, session)
            case 1:
                write(rollout(session), codex, session)
            case 2:
                write(home / f".qwen/projects/{folder}/chats/{session.id}.jsonl", qwen, session)
            case _:
                opencode(session, database)
    database.commit()
    database.close()


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
