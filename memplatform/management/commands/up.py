"""`manage.py up`: everything that `make run` promises."""

import gc
import logging
import os
import shlex
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import structlog
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import Error, OperationalError, connection
from django.utils import timezone
from django.utils.translation import gettext as _

from channels_app.doors.mcp import PATH
from memories import llm
from memories.choices import EntryType, ScopeKind, type_rule
from memories.conf import conf
from memplatform import addresses, checks, environment, postgres
from memplatform.database import roles, state
from memplatform.database import roles as database_checks
from memplatform.erasure import run as erasure
from memplatform.management.commands.migrate import alone
from memplatform.operations import hosts
from memplatform.operations.models import Heartbeat
from memplatform.processes import errands, web
from memplatform.processes.children import Child, programs
from memplatform.processes.supervisor import AlreadyRunning, Supervisor, pid_lock
from memplatform.setup import first_run
from memplatform.setup.first_run import OPERATOR, FirstRun
from sessions_app import flush

log = structlog.get_logger(__name__)

READY_WITHIN = 300.0  # seconds; the first start on a busy machine took 150
DATABASE_WITHIN = 30.0
END_WITHIN = 25.0
_PREDECESSOR_SECONDS = 15.0  # how long the children of a killed supervisor may hold the port
_SEEDING = 7_305_115  # a lock; any number nobody else uses
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Command(BaseCommand):
    help = _("Start everything, watch over it, and stop it all on Ctrl-C.")
    requires_system_checks: list[str] = []  # the web processes check; a second start is quick

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--only",
            action="append",
            default=[],
            metavar="PARTS",
            help=_("The parts to run on this host: %s, with commas.") % ", ".join(environment.PARTS),
        )

    def handle(self, *args: Any, only: list[str], **options: Any) -> None:
        """Each step first makes sure that the next can work; leaving undoes them in reverse."""
        gc.enable()
        _choose_parts(only)
        data = Path(settings.DATA_DIR)
        os.umask(0o077)  # of children, too: what they write is about people
        # The checks without which children would start only to end again
        all_checks = (checks.settings_are_typed, checks.paths_lead_to_code, checks.nothing_is_left_open)
        if errors := [problem for check in all_checks for problem in check(None) if problem.is_serious()]:
            sys.exit("\n".join(f"{problem.msg} {problem.hint or ''}".strip() for problem in errors))
        logging.disable(logging.INFO)  # the terminal is for the person who started it
        for number in _SIGNALS:
            signal.signal(number, _leave)
        try:
            with ExitStack() as stack:
                was_killed = stack.enter_context(pid_lock(data))
                patience = _PREDECESSOR_SECONDS if was_killed else 0
                self._require_ports(patience)
                stack.callback(self.say, _("Everything has stopped."))
                self.say(_("Starting the database …"))
                own = stack.enter_context(_database(data))
                self.say(_("Bringing the tables up to date …"))
                first = self._seed(data, own)
                supervisor = self._supervisor(data, own)
                supervisor.was_killed = was_killed
                stack.callback(_end, supervisor)
                stack.callback(self.say, _("Stopping: conversations are saved, then everything ends (up to 30 s) …"))
                self.say(_("Starting %s …") % ", ".join(child.name for child in supervisor.children))
                supervisor.start()
                self._wait(supervisor)
                stack.callback(addresses.remove, data)
                if "web" in settings.PARTS:
                    addresses.write(data, addresses.base_url(settings.HOST, settings.PORT))
                self._greet(first)
                supervisor.watch(until=lambda: False)
        except (AlreadyRunning, hosts.HostRefused, postgres.PostgresError) as problem:
            sys.exit(str(problem))

    def say(self, line: str) -> None:
        try:
            self.stdout.write(line)
            self.stdout.flush()
        except OSError:  # the terminal was closed; the work goes on until the signal comes
            return

    def _require_ports(self, patience: float) -> None:
        ports = {
            **({"MEMPLATFORM_PORT": settings.PORT} if "web" in settings.PARTS else {}),
            **({"MEMPLATFORM_MCP_PORT": settings.MCP_PORT} if _serves_mcp() else {}),
        }
        if len(ports) > 1 and settings.MCP_PORT == settings.PORT:
            sys.exit(
                _("MEMPLATFORM_MCP_PORT is the port of the web server, %(port)d; name another.")
                % {"port": settings.PORT}
            )
        for name, port in ports.items():
            if problem := web.obstacle(settings.HOST, port, patience=patience, setting=name):
                sys.exit(problem)

    def _seed(self, data: Path, own: str | None = None) -> FirstRun | None:
        """The tables, this host among the others, and what a fresh database needs; one host at a time. Of a web, what
        is made for the first start.
        """
        end = time.monotonic() + DATABASE_WITHIN
        while True:
            try:
                connection.ensure_connection()
                break
            except OperationalError as problem:
                if time.monotonic() > end:
                    sys.exit(_("The database does not answer: %s") % str(problem).strip())
                time.sleep(0.5)
        try:
            with alone(_SEEDING):
                if refusal := state.refused():
                    sys.exit(refusal)
                if own and settings.BACKUP_BEFORE_UPGRADE and state.is_of_an_older_version():
                    self.say(_("Backing up before the tables change …"))
                    self.say(_("It is whole: %s") % postgres.backup_before_upgrade(data, now=timezone.now()))
                if state.has_pending_migrations() or any(database_checks.problems()):
                    call_command("migrate", interactive=False, verbosity=0)
                postgres.upgrade_is_done(data)
                now = timezone.now()
                hosts.join(hosts.identity(data, settings.PARTS), now=now, is_alone=own is not None)
                is_first = not hosts.others(now=now).exists()
                first = first_run.ensure(data, now=now, may_replace_key=is_first) if "web" in settings.PARTS else None
                if erasure.order_missing(now=timezone.now()):  # a backup of before was restored
                    self.say(_("Erasing again whom the restored backup still knew …"))
                    erasure.erase_waiting(now=timezone.now())
        except Error as problem:
            sys.exit(_("The tables could not be brought up to date: %s") % str(problem).strip())
        return first

    def _supervisor(self, data: Path, own: str | None) -> Supervisor:
        """Of the children, each with its own login to the database; what it lacks there is printed at once."""
        try:
            accesses = roles.provide_access(own or os.environ["DATABASE_URL"])
            for problem in database_checks.problems():
                self.say(f"{problem.msg} {problem.hint}")
        except Error as reason:
            sys.exit(_("The database does not answer: %s") % str(reason).strip())
        logs = data / "logs"
        logs.mkdir(mode=0o700, exist_ok=True)
        return Supervisor(
            children=[
                Child(name, program, logs / f"{name}.log", accesses.get(name, roles.NO_ACCESS).environment())
                for name, program in programs(
                    settings.HOST, settings.PORT, settings.MCP_PORT if settings.MCP else None
                ).items()
                if name in settings.PARTS
            ],
            data=data if own else None,
            say=self.say,
            errands=errands.of_host(settings.PARTS, logs),
        )

    def _wait(self, supervisor: Supervisor) -> None:
        end = time.monotonic() + READY_WITHIN

        def is_ready() -> bool:
            if "web" in settings.PARTS:
                return web.answers(settings.HOST, settings.PORT, "/readyz")
            try:
                beating = set(Heartbeat.objects.filter(host=settings.HOST_NAME).values_list("name", flat=True))
            except Error:  # it fails over: the children wait for it, too
                connection.close()
                return False
            return {child.name for child in supervisor.children} <= beating

        supervisor.watch(until=lambda: is_ready() or time.monotonic() > end)
        if time.monotonic() > end:
            words = [f"{child.name}: {child.last_words()}" for child in supervisor.children]
            sentence = _("It was not ready within %(seconds)d seconds (%(words)s).")
            sys.exit(sentence % {"seconds": READY_WITHIN, "words": "; ".join(words)})

    def _greet(self, first: FirstRun | None) -> None:
        if first is None:
            parts = ", ".join(settings.PARTS)
            self.say(
                _("memplatform runs on the host %(host)s: %(parts)s.") % {"host": settings.HOST_NAME, "parts": parts}
            )
            self.say(_("Ctrl-C stops everything."))
            return
        base = addresses.base_url(settings.HOST, settings.PORT)
        lines = [
            "",
            _("memplatform is running."),
            _("  API:      %s") % f"{base}/api/v1/",
            *(
                [_("  MCP:      %s") % f"{addresses.base_url(settings.HOST, settings.MCP_PORT)}{PATH}"]
                if _serves_mcp()
                else []
            ),
            _("  Admin:    %s") % f"{base}/admin/",
            _("  Login:    %(name)s, password: %(word)s")
            % {"name": OPERATOR, "word": self._secret_line(first.new_password, first.password_file)},
            _("  Bot key:  %s") % self._secret_line(first.new_key, first.key_file),
        ]
        if (first.new_password or first.new_key) and self.stdout.isatty():
            lines.append(_("  Shown this once, and kept in %s.") % (Path(settings.DATA_DIR) / "credentials"))
        if (first.new_password or first.new_key) and not llm.is_on():
            lines += [_("Without a model:"), *(f"  {sentence}" for sentence in _without_model())]
        if first.key_file:  # quoted: it works as pasted, whatever the folder is called
            key = f'"Authorization: Bearer $(cat {shlex.quote(str(first.key_file))})"'
            call = f"curl -s {base}/api/v1/recall -H 'Content-Type: application/json' -H {key}"
            lines += [_("Ask it something:"), f"  {call} -d {shlex.quote(first_run.DEMO_QUESTION)}"]
        self.say("\n".join([*lines, _("Ctrl-C stops everything.")]))

    def _secret_line(self, secret: str | None, file: Path | None) -> str:
        """A new secret on a terminal alone: what a journal or a file keeps, more people read."""
        if secret and self.stdout.isatty():
            return secret
        return _("kept in %s") % file if file else _("not kept on this machine")


def _without_model() -> list[str]:
    """What becomes of words where no model makes facts of them, how long they live, and what outlives them."""
    sentences = []
    if conf.FACTS_IN_OWN_WORDS:
        sentence = _(
            "What users say plainly of themselves becomes a fact by rules, minutes after they pause, without an end;"
            " what else there is in a chat to draw facts from waits for a model."
        )
        sentences.append(sentence)
    terms = type_rule(EntryType.CHAT_TURN).ttls
    days = {kind: terms[kind].days for kind in (ScopeKind.USER, ScopeKind.CHAT)}
    sentence = _(
        "What is said in a chat is served for %(days)d days; with a model %(user)d after it was read, in a group"
        " %(chat)d. An operator can restore it, and set other terms. What a user asks to have remembered, notes, and"
        " what is saved on purpose have no end."
    )
    terms_of_turns = {"days": conf.UNREAD_TURN_TTL.days, "user": days[ScopeKind.USER], "chat": days[ScopeKind.CHAT]}
    return [*sentences, sentence % terms_of_turns]


def _choose_parts(only: list[str]) -> None:
    """The parts of this host, as the command or MEMPLATFORM_ONLY names them; a host of several shares its database."""
    parts = [part.strip() for words in only for part in words.split(",") if part.strip()]
    if unknown := [part for part in parts if part not in environment.PARTS]:
        sys.exit(
            _("--only names %(unknown)s; there are %(parts)s.")
            % {"unknown": ", ".join(unknown), "parts": ", ".join(environment.PARTS)}
        )
    if parts:  # for this process and its children
        settings.ONLY, settings.PARTS = parts, parts
        settings.MCP = settings.MCP or "mcp" in parts
        os.environ["MEMPLATFORM_ONLY"] = ",".join(parts)
    if settings.ONLY and not os.environ.get("DATABASE_URL"):
        sys.exit(
            _("A host that runs some parts only shares its database: let DATABASE_URL name one that all hosts reach.")
        )
    if "mcp" in settings.ONLY and "web" not in settings.ONLY and not os.environ.get("MEMPLATFORM_API_URL"):
        sys.exit(_("MCP asks the API, which this host does not run: let MEMPLATFORM_API_URL name where it answers."))


def _serves_mcp() -> bool:
    return settings.MCP and "mcp" in settings.PARTS


def _leave(number: int, _frame: FrameType | None) -> None:
    for signum in _SIGNALS:
        signal.signal(signum, signal.SIG_IGN)  # once is enough: stopping has begun
    sys.exit(0 if number == signal.SIGINT else 128 + number)


def _end(supervisor: Supervisor) -> None:
    """Stop every child, then flush conversations into memory while the database still runs (C8)."""
    began = time.monotonic()
    supervisor.stop()
    try:
        now = timezone.now()
        hosts.leave(now=now)
        if hosts.others(now=now).exists():  # conversations go on there
            return
        flush.flush_active(now=now, seconds=max(1.0, END_WITHIN - (time.monotonic() - began)))
    except Error as problem:  # the turns are stored either way; the sweep flushes them after the next start
        log.warning("flush.failed", problem=type(problem).__name__)


@contextmanager
def _database(data: Path) -> Iterator[str | None]:
    """The address of the embedded database, leased while inside; None when it is somebody else's."""
    if os.environ.get("DATABASE_URL"):
        yield None
        return
    with postgres.lease(data) as url:
        try:
            yield url
        finally:
            connection.close()
