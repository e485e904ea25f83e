"""The hooks of Claude Code: memory before a prompt (UserPromptSubmit), the turn remembered after it (Stop).

Reads the hook's JSON from standard input, needs nothing but Python, and never stops Claude: what goes wrong is one line
on standard error. Settings: MEMPLATFORM_URL, MEMPLATFORM_KEY, and MEMPLATFORM_PERSON where it is not the login's name.
"""

import getpass
import hashlib
import json
import os
import re
import sys
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from typing import Any

SECONDS = 5
MOST_CHARACTERS, MOST_BYTES = 8_000, 65_536  # of a question, of each side of a turn
#: What is typed to Claude Code itself.
COMMAND = re.compile(r"/[a-z][\w:-]*(\s|$)")


def main() -> int:
    """Do what the hook asks for."""
    try:
        event = json.load(sys.stdin.buffer)  # UTF-8, whatever the code page of the system is
        if event.get("hook_event_name") == "UserPromptSubmit":
            before(event)
        elif event.get("hook_event_name") == "Stop":
            after(event)
    except (OSError, ValueError) as error:  # HTTP errors are OSErrors
        print(f"memplatform: going on without memory: {type(error).__name__} {error}", file=sys.stderr)
    return 0


def before(event: dict[str, Any]) -> None:
    """Give Claude what is known, and keep the prompt until it is answered."""
    prompt = cut(str(event.get("prompt", ""))).strip()
    if not prompt or COMMAND.match(prompt):
        return
    pending = {"prompts": [*waiting(event).get("prompts", []), prompt], "once": uuid.uuid4().hex}
    keep(event, pending)
    # the conversation is in Claude's own context: none of it is told again
    query = {"address": address(event), "message": prompt[:MOST_CHARACTERS], "client_history": [], "token_budget": 2000}
    answer = call("context", query)
    keep(event, {**pending, "recall_id": answer.get("recall_id")})
    if answer.get("text"):
        context = {"hookEventName": "UserPromptSubmit", "additionalContext": answer["text"]}
        print(json.dumps({"hookSpecificOutput": context}))


def after(event: dict[str, Any]) -> None:
    """Have the turn remembered, whose prompts were kept."""
    pending = waiting(event)
    place(event).unlink(missing_ok=True)
    if not pending.get("prompts"):
        return
    turn = {
        "address": address(event),
        "user": cut("\n".join(pending["prompts"])),
        "assistant": cut(str(event.get("last_assistant_message") or newest_answer(event))),
        "recall_id": pending.get("recall_id"),
    }
    call("turns", turn, {"Idempotency-Key": pending["once"]})


def cut(text: str) -> str:
    """As much of a text as a side of a turn takes, without NUL and halves of characters."""
    return re.sub("[\\0\ud800-\udfff]", "", text).encode()[:MOST_BYTES].decode(errors="ignore")


def newest_answer(event: dict[str, Any]) -> str:
    """The last words of Claude in the transcript, for versions that do not hand them to the hook."""
    lines = Path(event.get("transcript_path") or os.devnull).read_text(encoding="utf-8").splitlines()
    for line in reversed(lines):
        row = json.loads(line)
        parts = row.get("message", {}).get("content") if row.get("type") == "assistant" else None
        texts = [part["text"] for part in parts or () if isinstance(part, dict) and part.get("type") == "text"]
        if texts:
            return "\n".join(texts)
    return ""


def address(event: dict[str, Any]) -> dict[str, str]:
    """Who speaks, and in which session."""
    person = os.environ.get("MEMPLATFORM_PERSON") or getpass.getuser()
    return {"platform": "cli", "account": "claude-code", "peer": person, "chat": f"{person}/{event['session_id']}"}


def place(event: dict[str, Any]) -> Path:
    """Where the prompts of a session wait for their answer."""
    home = os.environ.get("CLAUDE_PLUGIN_DATA") or Path.home() / ".cache" / "memplatform-claude-code"
    return Path(home) / f"{hashlib.sha256(str(event['session_id']).encode()).hexdigest()[:32]}.json"


def waiting(event: dict[str, Any]) -> dict[str, Any]:
    """What waits there; nothing where nobody can read it."""
    try:
        pending = dict(json.loads(place(event).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return {}
    return pending if pending.keys() >= {"prompts", "once"} else {}


def keep(event: dict[str, Any], pending: dict[str, Any]) -> None:
    """Let it wait, for this account alone to read; whole or not at all, wherever this is killed."""
    path = place(event)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(".draft")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(pending, file)
    draft.replace(path)


def call(path: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> dict[str, Any]:
    """What the platform answers. Raises OSError, ValueError."""
    url = os.environ.get("MEMPLATFORM_URL", "http://127.0.0.1:8000").rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise ValueError("MEMPLATFORM_URL is no address of a platform")
    defaults = {"Authorization": f"Bearer {os.environ.get('MEMPLATFORM_KEY', '')}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/api/v1/{path}", json.dumps(body).encode(), {**defaults, **(headers or {})})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return dict(json.load(answer))


if __name__ == "__main__":
    sys.exit(main())
