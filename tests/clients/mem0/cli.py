"""Every memory command of mem0's command line, against a running platform: `python cli.py HOST KEY FOLDER`."""

import importlib.metadata
import json
import os
import subprocess
import sys
import uuid

HOST, KEY, FOLDER = sys.argv[1:4]
USER = f"carol-{uuid.uuid4().hex[:8]}"
calls = {}


def mem0(*arguments):
    """What a command prints; raises where it ends badly."""
    environment = {**os.environ, "MEM0_API_KEY": KEY, "PYTHONPATH": FOLDER, "NO_COLOR": "1", "COLUMNS": "200"}
    program = "from mem0_cli.app import main; main()"
    command = [sys.executable, "-c", program, *arguments, "--base-url", HOST]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    if ran.returncode:
        raise RuntimeError((ran.stdout + ran.stderr).strip()[-160:])
    return ran.stdout


def tried(name, call):
    try:
        calls[name] = "ok" if call() is not False else "a wrong answer"
    except Exception as error:
        calls[name] = f"{type(error).__name__}: {error}"[:200]


def listed():
    return json.loads(mem0("list", "-u", USER, "-o", "json"))["data"]


def first():
    return listed()[0]["id"]


tried("status", lambda: "Connected" in mem0("status") or None)
tried("add", lambda: "ADD" in mem0("add", "I prefer dark mode", "-u", USER, "-o", "json"))
tried("add --no-infer", lambda: "ADD" in mem0("add", "Carol likes figs", "--no-infer", "-u", USER, "-o", "json"))
tried("search", lambda: "figs" in mem0("search", "What does Carol like?", "-u", USER, "-o", "json"))
tried("list", lambda: len(listed()) == 2)
tried("get", lambda: "memory" in mem0("get", first(), "-o", "json"))
tried("update", lambda: mem0("update", first(), "Carol likes dates") and "dates" in json.dumps(listed()))
tried("entity list", lambda: USER in mem0("entity", "list", "users"))
tried("event list", lambda: "SUCCEEDED" in mem0("event", "list"))
tried("delete", lambda: bool(mem0("delete", first(), "--force")) and len(listed()) == 1)
tried("delete --all", lambda: bool(mem0("delete", "--all", "-u", USER, "--force")) and listed() == [])
print(json.dumps({"client": "mem0-cli", "version": importlib.metadata.version("mem0-cli"), "calls": calls}))
