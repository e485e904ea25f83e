"""Credentials are on no page of the admin, for nobody, until somebody reveals one; and that is recorded."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from memories import entries
from memories.admin.masking import MASK, Masking
from memories.audit.models import AuditEvent, AuditRecord
from memories.entries import Edit
from memories.language.confidential import secret_words
from memories.models import Entry, Evidence
from tests.conftest import NOW, TELEGRAM, Api, make_key
from tests.memories.admin.conftest import OPEN, House
from tests.memories.admin.test_roles import LETTERS, person
from tests.memories.admin.test_wall import addresses

pytestmark = pytest.mark.django_db
#: What tells the secret by itself: what looks like one, the words around it, those of before, and the message.
WORD, FORMER, SAID = "hunter2-xyzzy", "swordfish-1", "open the cellar with plumtree"
ADDRESS = {**TELEGRAM, "account": OPEN, "peer": f"peer-{OPEN}", "chat": f"chat-{OPEN}"}


@pytest.fixture
def high_ids(mine: House) -> None:
    """Memories from now on have ids that no other row has by chance."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval(pg_get_serial_sequence('memories_entry', 'id'), 7000000)")


@pytest.fixture
def credential(mine: House) -> Entry:
    """A credential that a conversation told, that was reworded, recalled and quoted."""
    api = Api(make_key(mine.workspace, name="second", label="second"))
    response = api.post("turns", {"address": ADDRESS, "user": f"Listen: {SAID}", "assistant": "Noted."})
    assert response.status_code == 201
    entry = Entry.objects.filter(workspace=mine.workspace).latest("pk")
    for words in (f"The cellar opens with {FORMER}", f"The cellar opens with {WORD}"):
        edit = Edit(columns={"category": "credential", "content": words})
        entry = entries.update(Entry.objects.get(pk=entry.pk), edit, now=NOW, actor="user:a")
    Evidence.objects.create(
        workspace=mine.workspace, entry=entry, origin=entry.origins[0], start=0, end=9, quote=SAID, at=NOW
    )
    answer = api.post("recall", {"address": ADDRESS, "message": "how does the cellar open?"})
    assert WORD in str(answer.json())
    return entry


def pages(house: House) -> Iterator[str]:
    """Every address once, and what searches for it."""
    yield from (address for address in addresses(house) if "?" not in address)
    yield f"{reverse('admin:memories_entry_changelist')}?q=cellar"
    yield f"{reverse('admin:memories_entry_history', args=[Entry.objects.latest('pk').pk])}?"
    yield f"{reverse('admin:search')}?s=cellar&extended=1"


def told_on(client: Client, address: str) -> str:
    """A page, which tells no credential."""
    shown = client.get(address).content.decode(errors="replace")
    for words in (WORD, FORMER, SAID, "plumtree"):
        assert words not in shown, (address, words)
    return shown


@pytest.mark.thorough
def test_no_page_tells_a_credential_to_any_role(credential: Entry, mine: House) -> None:
    owner = person("S", mine.workspace)
    where = [address for address in pages(mine) if MASK in told_on(owner, address)]
    assert len(where) > 8, "the walk comes by the pages where it stands"
    for letter in set(LETTERS) - {"S"}:
        client = person(letter, mine.workspace)
        assert any(MASK in told_on(client, address) for address in where), letter


@pytest.mark.thorough
def test_of_very_many_the_page_names_those_that_stand_on_it(
    high_ids: None, credential: Entry, mine: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.admin.masking.MOST", 0)
    owner = person("W", mine.workspace)
    for address in pages(mine):
        told_on(owner, address)


def test_without_masking_it_would_stand_on_many_pages(
    credential: Entry, mine: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memplatform.http.middleware.mask", lambda request, response: None)
    client = person("W", mine.workspace)
    for name in ("entry_change", "entry_history"):
        assert WORD in client.get(reverse(f"admin:memories_{name}", args=[credential.pk])).content.decode(), name


@pytest.mark.parametrize(("letter", "may"), [(letter, letter in "COWS") for letter in LETTERS])
def test_who_may_reveal_it_does_so_and_it_is_recorded(letter: str, may: bool, credential: Entry, mine: House) -> None:
    client, address = person(letter, mine.workspace), reverse("admin:memories_entry_reveal", args=[credential.pk])
    assert (address in client.get(reverse("admin:memories_entry_change", args=[credential.pk])).content.decode()) is may
    assert WORD not in client.get(address).content.decode()
    answer = client.post(address, {"confirmed": "yes", "why": "incident"})
    assert (WORD in answer.content.decode()) is may
    records = list(AuditRecord.objects.filter(event="revealed").values_list("actor", "about", "workspace_id"))
    assert records == ([(f"user:{letter}", str(credential.pk), mine.workspace.pk)] if may else [])
    assert WORD not in str(list(AuditRecord.objects.values()))


@pytest.mark.parametrize("words", ["我的密码是hunter2x9", '密码: "hunter2x9\\" <or> hunter2x9 👾'])
def test_what_a_choice_offers_while_one_types_is_masked_in_every_script(words: str, mine: House) -> None:
    edit = Edit(columns={"category": "credential", "content": words})
    entries.update(mine.entry, edit, now=NOW, actor="user:a")
    query = {"app_label": "memories", "model_name": "entry", "field_name": "superseded_by", "term": "密码"}
    answer = person("V", mine.workspace).get(reverse("admin:autocomplete"), query)
    assert [result["text"] for result in answer.json()["results"]] == [MASK]
    assert b"hunter2x9" not in answer.content


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_audit_log_as_a_file_tells_no_credential(kind: str, credential: Entry, mine: House) -> None:
    details = {"text": f"renamed to {WORD}"}
    AuditRecord.note(
        AuditEvent.SETTING, actor="user:a", at=NOW, workspace_id=mine.workspace.pk, about="1", details=details
    )
    answer = person("A", mine.workspace).get(reverse("admin:memories_auditrecord_export", args=[kind]))
    assert WORD.encode() not in answer.content and f"renamed to {MASK}" in answer.content.decode()


def test_saving_a_form_leaves_what_was_masked_as_it_is(credential: Entry, mine: House) -> None:
    client, page = person("C", mine.workspace), reverse("admin:memories_entry_change", args=[credential.pk])
    form = form_of(credential) | {"importance": "0.9"}
    client.post(page, form | {"content": ""})
    credential.refresh_from_db()
    assert (credential.content, credential.importance) == (f"The cellar opens with {WORD}", 0.9)
    client.post(page, form | {"content": f"The cellar {MASK}", "opened_version": credential.version})
    credential.refresh_from_db()
    assert WORD in credential.content
    client.post(page, form | {"content": "The cellar is open", "opened_version": credential.version})
    credential.refresh_from_db()
    assert credential.content == "The cellar is open"


def test_what_says_nothing_by_itself_is_not_masked(credential: Entry, mine: House, owner: Client) -> None:
    page = reverse("admin:sessions_app_session_change", args=[mine.session.pk])
    shown = owner.get(page).content.decode()
    assert "Noted." in shown and "like marmalade" in shown and SAID not in shown


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("The wifi password is hunter2!", {"hunter2"}),
        ("密码是花生酱，别忘了", {"花生酱"}),
        ("the train of 2026-11-23 12:30 has 4711 seats", set()),
        ("the key sk-abcdefghijklmnop12345 works", {"sk-abcdefghijklmnop12345"}),
    ],
)
def test_words_that_look_like_secrets_are_known_and_days_are_not(statement: str, words: set[str]) -> None:
    assert secret_words(statement) == words


def form_of(entry: Entry) -> dict[str, Any]:
    return {
        "category": entry.category,
        "importance": entry.importance,
        "project": "",
        "topic": "",
        "opened_version": entry.version,
        "slots-TOTAL_FORMS": 0,
        "slots-INITIAL_FORMS": 0,
    }


def test_a_page_without_credentials_stays_as_it_is(mine: House, owner: Client) -> None:
    assert MASK not in owner.get(reverse("admin:memories_entry_changelist")).content.decode()


def test_a_password_that_is_a_common_word_breaks_no_link_and_no_other_word() -> None:
    masking = Masking([], {"admin", "secret"})
    page = '<a href="/admin/memories/entry/?view=secrets">Looks like secrets</a><p title="my secret">admin / secret</p>'
    assert masking.of_html(page) == page.replace("my secret", f"my {MASK}").replace(
        ">admin / secret<", f">{MASK} / {MASK}<"
    )
    assert masking.of_html('<a href="?q=secret">more</a>') == f'<a href="?q={MASK}">more</a>'
    assert masking.of_json('{"said": "so\\nsecret"}') == f'{{"said": "so\\n{MASK}"}}'
    assert masking.of_text('so\nsecret,"{""said"": ""so\\nsecret""}"') == f'so\n{MASK},"{{""said"": ""so\\n{MASK}""}}"'


def test_a_message_from_which_the_secret_was_taken_can_be_read() -> None:
    masking = Masking(["I changed my email passw"], {"Tr0ub4dor&3"})
    page = "<p>I changed my email password to {} yesterday</p>"
    assert masking.of_html(page.format("[secret]")) == page.format("[secret]")
    assert masking.of_html(page.format("Tr0ub4dor&amp;3")) == f"<p>{MASK}</p>"
    both = masking.of_html(page.format("[secret]") + page.format("Tr0ub4dor&amp;3"))
    assert both == page.format("[secret]") + f"<p>{MASK}</p>"
