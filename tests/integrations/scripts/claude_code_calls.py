"""The hooks of Claude Code, as its documentation calls them: JSON on standard input, JSON back."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trial import ADAPTER, DOWN, FACT, KEY, NAME, QUESTION, URL, WRONG_KEY, done, entries, person, scenario

PLACE = Path(tempfile.mkdtemp(dir=os.environ["HOME"]))


def hook(name, who, session, key=KEY, url=URL, code_page="utf-8", **fields):
    """What a hook prints, by the command that hooks.json names."""
    (group,) = json.loads((ADAPTER / "hooks" / "hooks.json").read_text())["hooks"][name]
    common = {"session_id": session, "transcript_path": str(PLACE / "none.jsonl"), "cwd": str(PLACE)}
    event = {**common, "permission_mode": "default", "hook_event_name": name, **fields}
    settings = {"CLAUDE_PLUGIN_ROOT": str(ADAPTER), "CLAUDE_PLUGIN_DATA": str(PLACE / "data")}
    settings |= {"MEMPLATFORM_URL": url, "MEMPLATFORM_KEY": key, "MEMPLATFORM_PERSON": who}
    settings |= {"PYTHONIOENCODING": code_page}
    ran = subprocess.run(
        ["sh", "-c", group["hooks"][0]["command"]],
        input=json.dumps(event, ensure_ascii=False),
        env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": os.environ["HOME"], **settings},
        capture_output=True,
        encoding="utf-8",
        timeout=20,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, ran.stderr


def context_of(who, session, words, **more):
    """What Claude is given before it answers."""
    printed, _log = hook("UserPromptSubmit", who, session, prompt=words, **more)
    if not printed:
        return ""
    output = json.loads(printed)["hookSpecificOutput"]
    assert output["hookEventName"] == "UserPromptSubmit"
    return output["additionalContext"]


def turn(who, session, words, answer="Noted."):
    text = context_of(who, session, words)
    hook("Stop", who, session, stop_hook_active=False, last_assistant_message=answer)
    return text


@scenario("a fact of a first session in a second")
def _():
    who = person()
    turn(who, "s-1", FACT)
    assert NAME in context_of(who, "s-2", QUESTION)
    assert entries(scope=f"cli:direct_{who}")


@scenario("another person does not get it")
def _():
    turn(person(), "s-1", FACT)
    assert NAME not in context_of(person(), "s-1", QUESTION)


@scenario("Chinese words on a system whose code page is another")
def _():
    who = person()
    for name, words in (
        ("UserPromptSubmit", {"prompt": "我的船叫鹪鹩。"}),
        ("Stop", {"last_assistant_message": "好的。"}),
    ):
        hook(name, who, "s-1", code_page="cp936", **words)
    assert any("鹪鹩" in entry["content"] for entry in entries("鹪鹩", scope=f"cli:direct_{who}"))


@scenario("memory away, and a key that is refused: the hooks say so and stop nothing")
def _():
    for key, url in ((KEY, DOWN), (WRONG_KEY, URL)):
        who, began = person(), time.monotonic()
        printed, log = hook("UserPromptSubmit", who, "s", key, url, prompt=QUESTION)
        assert not printed and "going on without memory" in log and WRONG_KEY not in log
        assert "going on" in hook("Stop", who, "s", key, url, last_assistant_message="I do not know.")[1]
        assert time.monotonic() - began < 8


@scenario("an answer is read in the transcript where the hook is not given it")
def _():
    who, transcript = person(), PLACE / "transcript.jsonl"
    rows = [
        {"type": "user", "message": {"role": "user", "content": "Which colour?"}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "The heron is grey."}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {}}]}},
    ]
    transcript.write_text("\n".join(map(json.dumps, rows)))
    context_of(who, "s", "Which colour has a heron?")
    hook("Stop", who, "s", transcript_path=str(transcript))
    assert "grey" in entries("heron", scope=f"cli:direct_{who}")[0]["content"]


@scenario("prompts that wait are one turn, a second Stop reports nothing, commands are no prompts")
def _():
    who = person()
    context_of(who, "s", "The kiln is hot.")
    assert context_of(who, "s", "/compact now") == ""
    context_of(who, "s", "It stands in the kiln room.")
    kept = list((PLACE / "data").glob("*.json"))
    assert kept and all(path.stat().st_mode & 0o077 == 0 for path in kept)
    for _twice in range(2):
        hook("Stop", who, "s", last_assistant_message="Careful.", stop_hook_active=False)
    rows = entries("kiln", scope=f"cli:direct_{who}")
    assert len(rows) == 1 and "room" in rows[0]["content"] and "compact" not in rows[0]["content"]


done()
