"""The commands: ask, search, remember, forget, import, export, status; login, logout and completion."""

from __future__ import annotations

import json
import os
import re
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import click
import httpx
from click.shell_completion import get_completion_class

from memplatform_client import Client, __version__, errors
from memplatform_client.cli import config, files, server
from memplatform_client.cli.config import Target
from memplatform_client.cli.terminal import (
    Away,
    Problem,
    WrongKey,
    WrongUsage,
    _,
    details_of,
    explained,
    no_answer,
    no_platform,
    print_json,
    say,
)
from memplatform_client.client import LOCAL

P = ParamSpec("P")
RUN_SLOT = "import_run"  #: by which the memories of one import are found again
BATCH = 500  # entries that are taken back at once
SHOWN_CHARS = 300
_SHELLS = ["bash", "zsh", "fish"]


@click.group(
    help=_("Long-term memory at a terminal: ask it, tell it, see what it keeps."),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_("Exit codes: 0 done, 1 nothing found or refused, 2 wrong usage, 3 the key, 4 no answer."),
)
@click.version_option(__version__, "--version", prog_name="memplatform", message="%(prog)s %(version)s")
def memplatform() -> None:
    """The group of all commands."""


@dataclass
class Platform:
    """The platform that is asked, and whose memory is meant."""

    target: Target
    is_json: bool
    client: Client

    @property
    def whose(self) -> dict[str, Any]:
        """A scope by its key, else that of whoever sits at this terminal."""
        return {"scope": self.target.scope} if self.target.scope else {"address": {"platform": "cli"}}

    @property
    def scope(self) -> str:
        return self.target.scope or str(self.client.resolve_address(address={"platform": "cli"})["user_scope"])


def connected(
    run: Callable[Concatenate[Platform, P], None],
) -> Callable[..., None]:
    """A command that asks a platform, with the flags that say which."""

    @click.option("--url", default="", metavar="URL", help=_("The platform; else MEMORY_URL, else the login's."))
    @click.option("--key", default="", metavar="KEY", help=_("The key; else MEMORY_KEY. Other users may see a flag."))
    @click.option("--scope", default="", metavar="SCOPE", help=_("Whose memory; else MEMORY_SCOPE, else your own."))
    @click.option("--json", "is_json", is_flag=True, help=_("Print JSON, for programs."))
    @wraps(run)
    def command(url: str, key: str, scope: str, is_json: bool, *args: P.args, **kwargs: P.kwargs) -> None:
        target = checked(config.target_of(Target(url, key, scope)))
        with Client(target.key, target.url) as client, explained(target.url):
            run(Platform(target, is_json, client), *args, **kwargs)

    return command


def checked(target: Target) -> Target:
    """A target that can be asked at all. Raises Problem."""
    try:
        address = httpx.URL(target.url)
        is_address = address.scheme in ("http", "https") and bool(address.host)
    except httpx.InvalidURL:
        is_address = False
    if not is_address:
        problem = _("“%(url)s” is no address: it begins with http:// or https:// and names a host.")
        raise WrongUsage(problem % {"url": target.url})
    if not re.fullmatch(r"[!-~]+", target.key.strip()):
        raise WrongKey(_("This is no key: a key is one word of plain letters, digits and signs."))
    return target


def _date(at: str | None, *, is_day: bool = False) -> str:
    """The day of a moment where this terminal is; what happened on a day, not at a moment, has that day everywhere."""
    return (at or "")[:10] if is_day or not at else datetime.fromisoformat(at).astimezone().date().isoformat()


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"


@memplatform.command(help=_("Ask what memory knows. What is likely to answer comes first."))
@connected
@click.argument("question", nargs=-1, required=True)
@click.option("--limit", default=5, type=click.IntRange(1, 50), show_default=True, help=_("How many at most."))
def ask(platform: Platform, question: tuple[str, ...], limit: int) -> None:
    """What a bot would be given for this question."""
    answer = platform.client.recall(
        **platform.whose, message=" ".join(question), limit=limit, need="off", serve="likely", quotas=False
    )
    if platform.is_json:
        print_json(answer)
    else:
        if answer["evidence"] != "found" and answer["memories"]:
            say(_("Nothing surely answers this; what comes nearest:"), error=True)
        for memory in answer["memories"]:
            say(memory["content"])
            say(f"    {_date(memory['created_at'])}  {memory['id']}")
        for event in answer["events"]:
            say(event["content"])
            say(f"    {_date(event['at'], is_day=event['kind'] == 'daily_event')}  {event['path']}")
    if not answer["memories"] and not answer["events"]:
        raise Problem(_("Nothing is known that answers this."))


@memplatform.command(help=_("Search all that is kept. Memories, notes, days and messages are ranked together."))
@connected
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", default=10, type=click.IntRange(1, 50), show_default=True, help=_("How many at most."))
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "vector", "keyword", "fts"]),
    default="hybrid",
    show_default=True,
    help=_("hybrid: by words and meaning; vector: by meaning; keyword: as typed; fts: full text."),
)
def search(platform: Platform, words: tuple[str, ...], limit: int, mode: Any) -> None:
    """One ranking of all sources."""
    answer = platform.client.memory_search(**platform.whose, query=" ".join(words), max_results=limit, mode=mode)
    if platform.is_json:
        print_json(answer)
    else:
        if answer["evidence"] != "found" and answer["results"]:
            say(_("Nothing surely fits; what comes nearest:"), error=True)
        for result in answer["results"]:
            say(_shortened(result["snippet"]))
            day = _date(result["at"], is_day=result["source"] == "daily_events")
            say(f"    {day}  {result['path']}:{result['line']}")
    if not answer["results"]:
        raise Problem(_("Nothing was found."))


@memplatform.command(help=_("Remember a text. “-” reads it from the standard input."))
@connected
@click.argument("text", nargs=-1, required=True)
@click.option("--pin", is_flag=True, help=_("Nothing else is merged into it."))
def remember(platform: Platform, text: tuple[str, ...], pin: bool) -> None:
    """Save one memory on purpose."""
    content = sys.stdin.read() if text == ("-",) else " ".join(text)
    if not content.strip():
        raise WrongUsage(_("There is nothing to remember: the text is empty."))
    saved = platform.client.save_entry(**platform.whose, content=content.strip(), pinned=pin)
    if platform.is_json:
        print_json(saved)
    if saved["outcome"] == "suppressed":
        raise Problem(_("It was not stored: it rests on what is in quarantine or was taken out."))
    if not platform.is_json:
        is_new = saved["outcome"] == "created"
        say(_("Remembered: %(id)s") % saved if is_new else _("That is known already: %(id)s") % saved)


@memplatform.command(help=_("Forget a memory, by its id or by words. It can be brought back."))
@connected
@click.argument("what", nargs=-1, required=True)
@click.option("--undo", is_flag=True, help=_("Bring back what was forgotten, by its id."))
def forget(platform: Platform, what: tuple[str, ...], undo: bool) -> None:
    """Take memories out of use, or bring them back."""
    are_ids = all(_is_id(word) for word in what)
    if undo and not are_ids:
        raise WrongUsage(_("What comes back is named by its id, as `memplatform forget` printed it."))
    for uid in what if are_ids else _chosen(platform, " ".join(what)):
        entry: Any = platform.client.restore_entry(uid) if undo else platform.client.delete_entry(uid)
        if platform.is_json:
            print_json(entry)
        elif undo:
            say(_("Known again: %(content)s") % {"content": _shortened(entry["content"])})
        else:
            say(_("Forgotten: %(content)s") % {"content": _shortened(entry["content"])})
            say(_("To bring it back: memplatform forget --undo %(id)s") % entry)


def _is_id(word: str) -> bool:
    try:
        return str(uuid.UUID(word)) == word.lower()
    except ValueError:
        return False


def _chosen(platform: Platform, words: str) -> list[str]:
    """The memory a person means by these words. Raises Problem where nobody can be asked which."""
    recall = platform.client.recall(
        **platform.whose, message=words, limit=5, need="off", quotas=False, include_session_events=False
    )
    memories = [memory for memory in recall["memories"] if memory["id"]]
    if not memories:
        raise Problem(_("No memory was found by these words; nothing was forgotten."))
    for number, memory in enumerate(memories, start=1):
        say(f"{number}. {_shortened(memory['content'])}", error=True)
        say(f"    {_date(memory['created_at'])}  {memory['id']}", error=True)
    if platform.is_json or not sys.stdin.isatty():
        raise WrongUsage(_("Nothing was forgotten. Name the one you mean by its id: memplatform forget ID"))
    number = click.prompt(_("Which one? (0: none)"), type=click.IntRange(0, len(memories)), err=True)
    return [str(memories[number - 1]["id"])] if number else []


@memplatform.command(
    "import", help=_("Bring in a file of memories. It may be text, Markdown, JSON, JSON Lines or an export.")
)
@connected
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option("--dry-run", is_flag=True, help=_("Show what would come in, and change nothing."))
@click.option("--yes", is_flag=True, help=_("Do not ask before writing."))
@click.option("--undo", metavar="RUN", help=_("Take back an import, by the name it printed."))
def import_file(platform: Platform, path: Path | None, dry_run: bool, yes: bool, undo: str | None) -> None:
    """Save each memory of a file, all of them under the name of one run."""
    if (path is None) == (undo is None):
        raise WrongUsage(_("Name a file to bring in, or with --undo the import to take back."))
    if undo is not None or path is None:
        _take_back(platform, undo or "")
        return
    contents = files.read(path)
    plan = _("%(count)d to bring in from %(path)s") % {"path": path, "count": len(contents.memories)}
    left_out = "".join(f"\n    {count} {_('left out')}: {reason}" for reason, count in contents.left_out.items())
    if dry_run:
        if platform.is_json:
            print_json({"memories": contents.memories, "left_out": contents.left_out})
        else:
            say("\n".join([plan + left_out, *(f"  - {_shortened(one['content'])}" for one in contents.memories)]))
        return
    say(plan + left_out, error=True)
    if not yes and sys.stdin.isatty():
        click.confirm(_("Bring them in?"), abort=True, err=True)
    run = f"import-{uuid.uuid4().hex[:12]}"
    counts = {"new": 0, "known": 0, "taken_out": 0, "refused": 0}
    try:
        with click.progressbar(contents.memories, file=sys.stderr, hidden=not sys.stderr.isatty()) as memories:
            for memory in memories:
                counts[_brought_in(platform, memory, run)] += 1
    finally:
        if platform.is_json:
            print_json({"run": run, **counts, "left_out": contents.left_out})
        else:
            message = _("%(new)d new, %(known)d known already, %(taken_out)d taken out before, %(refused)d refused.")
            say(message % counts)
            if counts["new"]:
                say(_("To take this import back: memplatform import --undo %(run)s") % {"run": run})


def _brought_in(platform: Platform, memory: dict[str, Any], run: str) -> str:
    """What became of one memory of a file."""
    try:
        saved = platform.client.save_entry(**platform.whose, **memory, source="migration")
    except (errors.Invalid, errors.Erased) as error:
        say(f"{_shortened(memory['content'])}\n    {details_of(error)}", error=True)
        return "refused"
    if saved["outcome"] == "created":  # what was there before belongs to no import
        platform.client.change_entry(saved["id"], slots={RUN_SLOT: run})
    return {"created": "new", "suppressed": "taken_out"}.get(saved["outcome"], "known")


def _take_back(platform: Platform, run: str) -> None:
    """Archive what came in by an import, as batches, which an operator sees and can undo."""
    by_scope: dict[str, list[str]] = {}
    for entry in platform.client.list_entries(slots={RUN_SLOT: run}, state="live", limit=200):
        by_scope.setdefault(entry["scope"], []).append(entry["id"])
    if not by_scope:
        raise Problem(_("No memory in use came in by “%(run)s”.") % {"run": run})
    batches = [
        platform.client.make_batch(scope=scope, verb="archive", entries=uids[start : start + BATCH], reason=run)
        for scope, uids in by_scope.items()
        for start in range(0, len(uids), BATCH)
    ]
    if platform.is_json:
        print_json({"run": run, "batches": [{"id": batch["id"], "state": batch["state"]} for batch in batches]})
        return
    for batch in batches:
        if batch["state"] == "applied":
            say(_("Taken back by the batch %(id)s.") % batch)
        else:
            say(_("The batch %(id)s takes it back when an operator approves it.") % batch)


@memplatform.command(help=_("Write what a scope keeps as JSON Lines. The key has to be one that may administer."))
@connected
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help=_("A file, else standard output.")
)
@click.option("--history", is_flag=True, help=_("With every change of every memory."))
@click.option("--all", "is_all", is_flag=True, help=_("The whole workspace, not one scope."))
def export(platform: Platform, output: Path | None, history: bool, is_all: bool) -> None:
    """An export that is whole, or an error and no file."""
    records = platform.client.export(scope=None if is_all else platform.scope, history=history)
    if output is None:
        stream = sys.stdout.buffer
        for record in records:
            stream.write(_line_of(record))
        return
    unfinished = output.with_name(f".{output.name}.{uuid.uuid4().hex[:8]}")
    try:
        unfinished.touch(mode=0o600)
        with unfinished.open("wb") as file:
            count = sum(1 for record in records if file.write(_line_of(record)))
        unfinished.replace(output)
    except OSError as error:
        raise Problem(_("%(path)s cannot be written: %(why)s") % {"path": output, "why": error}) from error
    finally:
        unfinished.unlink(missing_ok=True)
    if platform.is_json:
        print_json({"path": str(output), "records": count})
    else:
        say(_("%(count)d records written to %(path)s.") % {"count": count, "path": output})


def _line_of(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


@memplatform.command(help=_("Say whether the platform runs. Also whether it knows the key, and what was kept last."))
@connected
def status(platform: Platform) -> None:
    """The platform, the key, the scope."""
    url = platform.target.url
    health = _health(url)
    words = {"ok": _("Everything runs."), "behind": _("It runs; some work is behind its time.")}
    word = words.get(health["status"], _("It is not ready to answer."))
    named = ", ".join([*health.get("not_ready", ()), *health.get("behind", ())])
    if not platform.is_json:
        say(f"{url}: {word}" + (f" ({named})" if named else ""))
    scope = platform.scope
    newest = _newest(platform, scope)
    if platform.is_json:
        print_json({"url": url, **health, "scope": scope, "newest": newest})
    else:
        say(_("The key is known. Scope: %(scope)s") % {"scope": scope})
        last = f"{_date(newest['created_at'])}  {_shortened(newest['content'])}" if newest else None
        say(last or _("Nothing is kept there yet."))
    if health["status"] not in words:
        sys.exit(Away.exit_code)


def _health(url: str) -> dict[str, Any]:
    """What the platform says of itself, to anybody. Raises Away."""
    try:
        answer = httpx.get(f"{url.rstrip('/')}/readyz", timeout=10)
    except httpx.HTTPError as error:
        raise no_answer(url, error) from error
    try:
        health: dict[str, Any] = answer.json()
        return {**health, "status": str(health["status"])}
    except (ValueError, LookupError, TypeError) as error:
        raise no_platform(url, answer.status_code) from error


def _newest(platform: Platform, scope: str) -> Any:
    try:
        return next(platform.client.list_entries(scope=scope, state="live", limit=1), None)
    except errors.NotFound:  # nobody has written to it yet
        return None


@memplatform.command(help=_("Keep an address and a key. They stand in a file only you can read."))
@click.argument("url", default="")
@click.option("--key", default="", metavar="KEY", help=_("The key; else you are asked, or it is read from a pipe."))
@click.option("--scope", default="", metavar="SCOPE", help=_("Whose memory is meant where no command says it."))
def login(url: str, key: str, scope: str) -> None:
    """Write the file of config.py, once the platform knows the key."""
    is_terminal = sys.stdin.isatty()
    if not url:
        url = os.environ.get("MEMORY_URL") or LOCAL
        url = str(click.prompt(_("Address of the platform"), default=url, err=True)) if is_terminal else url
    if not key:
        key = str(click.prompt(_("Key"), hide_input=True, err=True)) if is_terminal else sys.stdin.readline()
    target = checked(Target(url.rstrip("/"), key.strip(), scope))
    address = httpx.URL(target.url)
    if address.scheme == "http" and address.host not in ("127.0.0.1", "::1", "localhost"):
        say(_("Beware: http:// sends the key to %(host)s unencrypted.") % {"host": address.host}, error=True)
    with Client(target.key, target.url, retries=1) as client, explained(target.url):
        client.resolve_address(address={"platform": "cli"})
    path = config.write(target)
    say(_("%(url)s knows the key. Kept in %(path)s.") % {"url": target.url, "path": path})


@memplatform.command(help=_("Remove what `memplatform login` keeps."))
def logout() -> None:
    """Remove the file of config.py."""
    path = config.file()
    if not path.exists():
        raise Problem(_("There is no login to remove."))
    path.unlink()
    say(_("%(path)s is removed.") % {"path": path})


@memplatform.command(help=_("Print a completion for your shell. Add it to the shell's start file."))
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """A script a shell reads."""
    kind = get_completion_class(shell)
    if kind is None:
        raise WrongUsage(_("This shell is not known."))
    click.echo(kind(memplatform, {}, "memplatform", "_MEMPLATFORM_COMPLETE").source())


server.add_to(memplatform)


def main() -> None:
    """The entry point of the script."""
    memplatform(prog_name="memplatform", complete_var="_MEMPLATFORM_COMPLETE")
