"""Every page of the admin that asks first, what an answer does, and the buttons of every row: as they are written down.

`FROZEN=write` writes the files anew; a commit that changes one says why.
"""

import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

import pytest
from django import forms
from django.contrib import admin
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_q.models import Schedule

from channels_app.models import Identity, Person
from memories import batches
from memories.audit.models import AuditRecord
from memories.batches import PlanRow
from memories.batches.steps import ExpireStep
from memories.choices import BufferState
from memories.models import Batch, Bot, Entry, ExtractionBatch, Webhook
from tests.conftest import NOW
from tests.memories.admin import role_table
from tests.memories.admin.conftest import House
from tests.memories.admin.test_entries import remember
from tests.memories.admin.test_roles import AUTOCOMPLETE, addresses, person
from tests.memories.admin.test_wall import rows_of

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]
FILES = Path(__file__).parent / "questions"
#: What a form needs that its fields do not begin with.
ANSWERS = {"reason": "it was wrong", "label": "production", "name": "Ann", "project": "garden"}
#: Choices whose values are ids of rows.
OF_ROWS = ("workspace", "bot", "scope")
#: What differs from one run to the next, and what is written in its place.
NORMALISED = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"[0-9a-f]{32}", "UID"),
    (r"mp_[\w-]+", "KEY"),
    (r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:\+00:00|Z)?)?", "DATE"),
    (r"(?<=/)\d+(?=/)", "N"),
    (r"(?<==)\d+(?=[&\"#]|$)", "N"),
    (r"#(row|m)\d+", r"#\1N"),
    (r"(?<= )\d+(?= /admin/)", "N"),
    (r'(?<=<input type="hidden" name="_selected_action" value=")\d+', "N"),
    (r'(?<=<input type="radio" name="stays" value=")\d+', "N"),
    (r'(?<=<input type="checkbox" name="channels" value=")\d+', "N"),
    (r'(?<=<input type="hidden" name="workspace" value=")\d+', "N"),
)


class Skeleton(HTMLParser):
    """What a page says and asks, a line for each text and each field: without the look of it."""

    ASKS: ClassVar = {
        "input": ("type", "name", "value", "checked", "autofocus"),
        "textarea": ("name", "autofocus"),
        "select": ("name",),
        "option": ("value", "selected"),
        "a": ("href",),
        "button": ("name", "value"),
    }

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.is_skipped = False
        self.select = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        values = dict(attrs)
        self.is_skipped = tag in ("script", "style")
        if tag not in self.ASKS or values.get("name") == "csrfmiddlewaretoken":
            return
        self.select = values.get("name", "") if tag == "select" else self.select
        if tag == "option" and self.select in OF_ROWS and values.get("value"):
            values["value"] = "N"
        shown = [f'{name}="{values[name]}"' if values[name] else name for name in self.ASKS[tag] if name in values]
        if tag == "button":
            shown += [word for word in ("danger",) if "bg-red-600" in values.get("class", "")]
        self.lines.append(f"<{' '.join([tag, *shown])}>")

    def handle_data(self, data: str) -> None:
        if not self.is_skipped and (words := " ".join(data.split())):
            self.lines.append(words)


def skeleton(page: str) -> str:
    """The form of a page that asks, in lines."""
    start = page.index("<form", page.index('class="mp-page') - 200)
    parser = Skeleton()
    parser.feed(page[start : page.index("</form>", start)])
    return "\n".join(parser.lines)


def asks(response: Any) -> bool:
    return response.status_code == 200 and "admin/question.html" in [used.name for used in response.templates]


def outcome(response: Any, noted: int) -> str:
    """What became of an answer: where it leads, what it says, and what is noted."""
    if response.status_code == 403:
        return "→ 403"
    queued = getattr(response.wsgi_request, "_messages", None)
    lines = [f"→ {response.status_code} {response.headers.get('Location', '')}"]
    lines += [f"{message.level_tag}: {message}" for message in (queued._queued_messages if queued else [])]
    if response.status_code == 200:
        lines.append(f"title: {response.context['title']}")
        lines += [
            f"refused: {form.errors.as_json()}" for form in [response.context.get("form")] if form and form.errors
        ]
        lines.append(f"cached: {response.headers.get('Cache-Control', '')}")
    records = AuditRecord.objects.filter(pk__gt=noted).order_by("pk")
    lines += [f"noted: {record.event} {record.about} {record.address} {record.details}" for record in records]
    return "\n".join(lines)


def answer_to(response: Any) -> dict[str, Any]:
    """An answer to a page that asks: what its form begins with, and what it needs besides."""
    form: forms.BaseForm | None = response.context.get("form")
    answer: dict[str, Any] = {"confirmed": "yes"}
    for name, field in (form.fields if form else {}).items():
        value = form.get_initial_for_field(field, name)  # type: ignore[union-attr]
        if value in (None, "", []) and isinstance(field, forms.ChoiceField | forms.ModelChoiceField):
            choices = [choice for choice, _label in field.choices if choice]
            value = str(choices[0]) if choices else ""
        if name == "person":
            value = response.context["person"]
        if name == "scope":
            value = field.queryset.order_by("pk").last().pk  # type: ignore[attr-defined]
        value = getattr(value, "pk", value)
        answer[name] = ANSWERS.get(name, value if value is not None else "")
    return {name: value for name, value in answer.items() if value is not False}


@pytest.fixture
def askable(furnished: House) -> House:
    """With something to ask about on every page: plans, a parked batch, people who are linked, what is switched off."""
    scope = furnished.scope
    for run, words in (("night", "the port is 8080"), ("night", "the cat is called Rice"), ("day", "tea is better")):
        plan = [PlanRow.of(remember(scope, words), ExpireStep())]
        batches.plan(scope, plan, name="sweep", run=run, actor="job:sweep", now=timezone.now())
    Batch.objects.create(
        workspace=furnished.workspace, scope=scope, name="purge", actor="job:purge", run="purge", state="proposed",
        counts={"purge": 1}, created_at=NOW,
    )  # fmt: skip
    remember(scope, "the key is sk-live-4eC39HqLyjWDarjtT1zdp7dc", category="credential", subtype="secret:key")
    waiting = ExtractionBatch.objects.order_by("pk").last()
    assert waiting is not None
    ExtractionBatch.objects.create(
        workspace=furnished.workspace, state=BufferState.PARKED, session_uid=waiting.session_uid, sealed=True,
        error="ModelFailed: x",
        **{name: getattr(waiting, name) for name in ("began_at", "last_at", "due_at", "tokens", "turn_count")},
    )  # fmt: skip
    Bot.objects.create(workspace=furnished.workspace, name="asleep", disabled_at=NOW)
    Schedule.objects.create(name="off", func="f", repeats=0)
    someone = Person.objects.create(workspace=furnished.workspace, name="Bea", united_at=NOW)
    for peer in ("bea", "bea2"):
        Identity.objects.create(
            workspace=furnished.workspace, person=someone, platform="telegram", peer=peer, since=NOW
        )
    Webhook.objects.update(url="https://receiver.example/")
    return furnished


def pages(house: House) -> Iterator[tuple[str, str]]:
    """The name of every page with one of its addresses, and those that ask of more than one kind of row."""
    of = {"of": house.workspace.pk}
    for name, address in addresses(house):
        if name in ("login", "login_code", "logout", "autocomplete"):
            continue
        yield name, address + {"autocomplete": AUTOCOMPLETE}.get(name, "")
    several: list[tuple[str, Any]] = [
        ("memories_batch_approve", Batch.objects.filter(state="proposed")),
        ("memories_batch_refuse", Batch.objects.filter(state="proposed")),
        ("memories_batch_restore", Batch.objects.filter(name="expire")),
        ("memories_bot_enable_or_disable", Bot.objects.filter(name="asleep")),
        ("django_q_schedule_switch", Schedule.objects.filter(name="off")),
        ("memories_extractionbatch_retry", ExtractionBatch.objects.filter(state=BufferState.PARKED)),
        ("memories_entry_expire", Entry.objects.order_by("-pk")[:1]),
        ("memories_entry_restore", Entry.objects.filter(expired_at__isnull=False)),
        ("memories_entry_reveal", Entry.objects.filter(category="credential")),
    ]
    for name, rows in several:
        for row in rows:
            yield name, reverse(f"admin:{name}", args=[row.pk])
    for dry in ({}, {"dry": "yes"}):
        yield "run", f"{reverse('admin:memories_jobrun_run', args=['expire'])}?{urlencode(of | dry)}"
    for entry in Entry.objects.filter(workspace=house.workspace).order_by("pk")[:1]:
        yield "quarantine", f"{reverse('quarantine_new')}?entry={entry.pk}"
    person_pages = {"person_link": ["telegram:bea", "telegram:peer-marmalade"], "person_unlink": ["telegram:bea2"]}
    for name, peers in person_pages.items():
        query = urlencode({**of, "person": peers}, doseq=True)
        yield name, f"{reverse(f'admin:channels_app_{name}')}?{query}"
    yield "erase", f"{reverse('admin:memories_erasure_erase')}?{urlencode({**of, 'person': 'telegram:bea'})}"


def pages_to_ask(client: Client, house: House) -> Iterator[tuple[str, str]]:
    """In English every page; in Chinese those that ask in English, for whether one asks is not a matter of language."""
    every = os.environ.get("FROZEN") == "write" or client.cookies["django_language"].value == "en"
    lines = (FILES / "questions.en.txt").read_text().splitlines()
    return ((name, address) for name, address in pages(house) if every or f"== {name}" in lines)


def questions(client: Client, house: House) -> Iterator[str]:
    for name, address in pages_to_ask(client, house):
        with transaction.atomic():
            noted = AuditRecord.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
            response = client.get(address)
            if asks(response):
                yield f"== {name}\n{skeleton(response.content.decode())}"
                yield outcome(client.post(address, answer_to(response)), noted)
            transaction.set_rollback(True)


def list_actions(client: Client, house: House) -> Iterator[str]:
    rows = {label: sorted(found, key=lambda row: row.pk) for label, found in rows_of(house).items()} | {
        model._meta.label_lower.replace(".", "_"): list(model._default_manager.order_by("pk"))
        for model, page in admin.site._registry.items()
        if page.workspace_field is None  # type: ignore[attr-defined]
    }
    for label, actions in role_table.ACTIONS.items():
        for action in actions:
            for ticked in (rows[label][:1], rows[label][:2], rows[label]):
                chosen = {"action": action, "_selected_action": [row.pk for row in ticked], "index": "0"}
                address = reverse(f"admin:{label}_changelist")
                with transaction.atomic():
                    noted = AuditRecord.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
                    response = client.post(address, chosen)
                    yield f"== {label} {action} {len(ticked)}"
                    if asks(response):
                        yield skeleton(response.content.decode())
                        response = client.post(address, chosen | answer_to(response))
                    yield outcome(response, noted)
                    transaction.set_rollback(True)


def buttons(client: Client, house: House) -> Iterator[str]:
    for label, rows in rows_of(house).items():
        for row in sorted(rows, key=lambda row: row.pk):
            response = client.get(reverse(f"admin:{label}_change", args=[row.pk]))
            offered = (response.context or {}).get("actions_detail") or []
            yield f"== {label}\n" + "\n".join(
                f"{item['title']} {item['path']} {item['icon']} {item['variant']}" for item in offered
            )


def normalised(lines: str) -> str:
    for pattern, written in NORMALISED:
        lines = re.sub(pattern, written, lines, flags=re.MULTILINE)
    return lines


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("part", [questions, list_actions, buttons], ids=lambda part: part.__name__)
def test_what_is_asked_and_what_an_answer_does_is_as_it_was(part: Any, language: str, askable: House) -> None:
    client = person("S", askable.workspace)
    client.cookies["django_language"] = language
    shown = normalised("\n".join(part(client, askable))) + "\n"
    file = FILES / f"{part.__name__}.{language}.txt"
    if os.environ.get("FROZEN") == "write":
        FILES.mkdir(exist_ok=True)
        file.write_text(shown)
    assert shown == file.read_text()
