"""`manage.py batch`: see what was changed together, decide about what waits, take back what was done (F3, F4)."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any
from unicodedata import east_asian_width

from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder
from django.utils import timezone
from django.utils.translation import gettext as _

from memories import batches
from memories.api.batches import batch_answer, change_answer
from memories.choices import BatchState, BatchVerb, ChangeState
from memories.exceptions import BatchNotFound, PlatformError
from memories.management import command_line
from memories.models import Batch, Workspace

SHOWN = 50
WIDEST = 60
MARKS = {"=": "{}", "-": "[-{}-]", "+": "{{+{}+}}"}


class Command(BaseCommand):
    help = _("Lists and shows batches, approves, refuses and undoes them.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["list", "show", "approve", "refuse", "undo"])
        parser.add_argument("batch", nargs="?", help="its id, or the end of it; of an undo also the name of a run")
        parser.add_argument("--workspace", metavar="NAME", help="only batches of this workspace")
        parser.add_argument("--state", choices=BatchState.values, help="of a list: only batches in this state")
        parser.add_argument("--most", type=int, default=SHOWN, help=f"of a list or its rows: so many; {SHOWN}")
        parser.add_argument("--rows", metavar="1,2", help="of an undo: only these rows")
        parser.add_argument("--force", action="store_true", help="of an undo: also what was changed since")
        parser.add_argument("--reason", default="", help="of an undo: kept with it")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        self.as_json = options["json"]
        try:
            rows, number, action = Batch.objects.select_related("scope", "undoes"), options["batch"], options["action"]
            rows = rows.order_by("-created_at", "-pk")
            if (workspace := options["workspace"]) is not None:
                if not Workspace.objects.filter(name=workspace).exists():
                    raise CommandError(_("There is no workspace “%(name)s”.") % {"name": workspace})
                rows = rows.filter(workspace__name=workspace)
            if action == "list":
                listed_rows = (rows.filter(state=options["state"]) if options["state"] else rows)[: options["most"]]
                heads = [_("id"), _("created"), _("state"), _("name"), _("scope"), _("by"), _("changes"), _("reason")]
                if self.as_json:
                    self._print([batch_answer(row) for row in listed_rows])
                else:
                    self.stdout.write(table([heads, *map(_cells, listed_rows)]))
            elif action == "undo" and number and ":" in number and (of_run := rows.filter(run=number, undoes=None)):
                # The batches of the run that is named, which are in force, the last first
                applied = list(of_run.filter(state=BatchState.APPLIED).order_by("-pk"))
                if not applied:
                    raise CommandError(_("All of this run is taken back already."))
                undone = [_perform("undo", batch, {**options, "rows": None}) for batch in applied]
                if self.as_json:
                    self._print([batch_answer(batch) for batch in undone])
                else:
                    self.stdout.write(_("Taken back: %(count)d batches of one run.") % {"count": len(undone)})
            else:
                # The batch with this id, or the only one whose id ends so
                if not number:
                    raise CommandError(_("Which batch? Say its id, or the end of it."))
                ending = number.lower().replace("-", "")
                matching = [pk for pk, uid in rows.values_list("pk", "uid").iterator() if uid.hex.endswith(ending)]
                if len(matching) > 1:
                    raise CommandError(_("Several batches have an id that ends so."))
                if not matching:
                    raise BatchNotFound
                changed_batch = _perform(action, rows.get(pk=matching[0]), options)
                self._show(Batch.objects.select_related("scope", "undoes").get(pk=changed_batch.pk), options["most"])
        except PlatformError as problem:
            raise CommandError(str(problem)) from problem

    def _show(self, batch: Batch, most: int) -> None:
        changes = list(batch.changes.order_by("position").select_related("entry", "event")[:most])
        rows = [change_answer(row) for row in batches.describe(batch, changes)]
        if self.as_json:
            self._print({**batch_answer(batch), "changes": rows})
            return
        head = [
            [_("id"), str(batch.uid)],
            [_("name"), _name(batch)],
            [_("scope"), str(batch.scope or "")],
            [_("by"), f"{batch.actor}  {batch.run}"],
            [_("state"), str(BatchState(batch.state).label)],
            *([_("held because"), why] for why in batches.approval_reasons(batch)),
            [_("decided by"), batch.decided_by],
            [_("reason"), batch.reason],
            [_("created"), _moment(batch.created_at)],
            [_("applied"), _moment(batch.applied_at)],
            [_("takes back"), str(batch.undoes.uid) if batch.undoes else ""],
            *([_("taken back by"), str(undo.uid)] for undo in batch.undone_by.order_by("pk")),
        ]
        self.stdout.write(table([[name, value] for name, value in head if value]))
        self.stdout.write("")
        self.stdout.write(table([["#", _("verb"), _("state"), _("content"), _("note")], *map(_row, rows)]))
        if (rest := batch.changes.count() - len(changes)) > 0:
            self.stdout.write(_("and %(n)d more") % {"n": rest})

    def _print(self, value: Any) -> None:
        self.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, cls=DjangoJSONEncoder))


def _perform(action: str, batch: Batch, options: dict[str, Any]) -> Batch:
    """What is left to show after it. The command waits until everything is carried out."""
    now, actor = timezone.now(), command_line.actor()
    if action == "approve":
        return batches.apply_batch(batches.approve(batch, actor=actor, now=now), now=now)
    if action == "refuse":
        return batches.refuse(batch, actor=actor, now=now)
    if action == "undo":
        try:
            positions = None if options["rows"] is None else [int(row) for row in options["rows"].split(",")]
        except ValueError:
            raise CommandError(_("Rows are numbers with commas between them, such as 1,2.")) from None
        undo = batches.plan_undo(
            batch,
            actor=actor,
            now=now,
            reason=options["reason"],
            positions=positions,
            force=options["force"],
        )
        return batches.apply_batch(undo, now=now)
    return batch


# as people read it


def _cells(batch: Batch) -> list[str]:
    changes = sum(number for number in batch.counts.values() if isinstance(number, int))
    reason = " ".join(batches.approval_reasons(batch)) if batch.state == BatchState.PROPOSED else batch.reason
    return [
        batch.uid.hex[-8:],
        _moment(batch.created_at),
        str(BatchState(batch.state).label),
        _name(batch),
        str(batch.scope or ""),
        batch.actor,
        str(changes),
        _short(reason or batch.reason),
    ]


def _row(row: dict[str, Any]) -> list[str]:
    words = row["content"] or ""
    if row["diff"] is not None:
        words = "".join(MARKS[sign].format(text) for sign, text in row["diff"])
    values = [(change["column"], change["old"], change["new"]) for change in row["changes"]]
    values += [(slot["name"], slot["old"], slot["new"]) for slot in row["slots"]]
    words += "".join(f"; {name}: {_display(old)} → {_display(new)}" for name, old, new in values)
    return [
        str(row["position"]),
        str(BatchVerb(row["verb"]).label),
        str(ChangeState(row["state"]).label),
        _short(words, 2 * WIDEST),
        (row["note_details"] or {}).get("text", row["note"]) if row["note"] else "",
    ]


def _display(value: Any) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return "—" if value in (None, "") else str(value)


def _name(batch: Batch) -> str:
    return str(BatchVerb(batch.name).label) if batch.name in BatchVerb.values else batch.name


def _moment(at: Any) -> str:
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M}" if at else ""


def _short(text: str, most: int = WIDEST) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def table(rows: Iterable[list[str]]) -> str:
    """Columns beside one another; a Chinese character is as wide as two Latin ones."""
    rows = list(rows)
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _width(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
