"""The rules of tests/test_architecture.py notice when they are broken, and only then."""

import pytest

from tests.test_architecture import (
    FILE_LINES,
    FUNCTION_LINES,
    Rule,
    Source,
    back_doors,
    broad_excepts,
    broken_layers,
    computed_keys,
    nameless_modules,
    oversize,
    read_clocks,
    signals,
    upward_imports,
)

BROKEN: list[tuple[Rule, str, str]] = [
    (upward_imports, "memories.text", "import sessions_app.models"),
    (upward_imports, "memories.text", "from channels_app import turns"),
    (upward_imports, "sessions_app.models", "from channels_app.models import Channel"),
    (upward_imports, "channels_app.turns", "import memplatform"),
    (upward_imports, "memories.store.intake", "def f():\n    from sessions_app import conversations"),
    (upward_imports, "memories.tasks", "run('channels_app.turns.take_turn')"),
    (upward_imports, "memories.text", "if TYPE_CHECKING:\n    from sessions_app.models import Session"),
    (broken_layers, "memories.text", "from memories.models import Entry"),
    (broken_layers, "memories.models.entry", "from memories import store"),
    (broken_layers, "memories.embeddings.cache", "import memories.indexing"),
    (broken_layers, "memories.store.intake", "def f():\n    from memories.retrieval import recall"),
    (broken_layers, "memories.store.intake", "from ..retrieval import recall"),
    (broken_layers, "memories.capture", "from memories import retrieval"),
    (broken_layers, "memories.retrieval.query", "from memories.capture import Turn"),
    (broken_layers, "memories.retrieval", "from memories.api.scopes import scope_for"),
    (broken_layers, "memories.drafts", "from memories.store import remember"),
    (broken_layers, "memories.newcomer", "x = 1"),
    (broken_layers, "memories.api.entries", "from memories import newcomer"),
    (read_clocks, "memories.capture", "from django.utils import timezone\nnow = timezone.now()"),
    (read_clocks, "memories.models.scope", "at = DateTimeField(default=timezone.now)"),
    (read_clocks, "memories.expiry", "import datetime\ndatetime.datetime.now(UTC)"),
    (read_clocks, "sessions_app.conversations", "def f():\n    return datetime.now(UTC)"),
    (read_clocks, "memories.store.locks", "time.time()"),
    (read_clocks, "channels_app.turns", "from time import time"),
    (read_clocks, "channels_app.turns", "from django.utils.timezone import now"),
    (read_clocks, "memories.retrieval.query", "date.today()"),
    (read_clocks, "memories.indexing", "from django.db.models.functions import Now"),
    (nameless_modules, "memories.utils", ""),
    (nameless_modules, "channels_app.services.lark", ""),
    (nameless_modules, "tests.helpers", ""),
    (signals, "memories.store", "from django.db.models.signals import post_save"),
    (signals, "memories.store", "from django.db.models import signals"),
    (signals, "memories.store", "from django.dispatch import receiver"),
    (signals, "memplatform.apps", "def ready():\n    import django.core.signals"),
    (broad_excepts, "memories.embeddings", "try:\n    f()\nexcept Exception:\n    pass"),
    (broad_excepts, "memories.embeddings", "try:\n    f()\nexcept:\n    raise"),
    (broad_excepts, "memories.embeddings", "try:\n    f()\nexcept (ValueError, BaseException) as e:\n    pass"),
    (back_doors, "memories.capture", "Entry(content='x')"),
    (back_doors, "memories.capture", "models.Entry(content='x').save()"),
    (back_doors, "memories.capture", "Entry.objects.create(content='x')"),
    (back_doors, "memories.capture", "Entry.objects.bulk_create(rows)"),
    (back_doors, "memories.expiry", "Entry.objects.in_scope(scope).filter(pk=1).update(pinned=True)"),
    (back_doors, "memories.expiry", "Entry.objects.get(pk=1).save()"),
    (back_doors, "memories.expiry", "entry.save(update_fields=['pinned'])"),
    (back_doors, "memories.expiry", "change.entry.save()"),
    (back_doors, "memories.expiry", "scope.entries.update(pinned=True)"),
    (back_doors, "memplatform.demo", "from memories.models import Entry as E\nE.objects.update(pinned=True)"),
    (back_doors, "memories.indexing", "cursor.execute('UPDATE memories_entry SET pinned = true')"),
    (back_doors, "memories.indexing", "cursor.execute(f'insert into\\n memories_entry ({x})')"),
    (back_doors, "memories.models.entry", "class EntryQuerySet:\n    def end(self):\n        self.live().update(a=1)"),
    (computed_keys, "channels_app.turns", "scope = f'{platform}:direct_{peer}'"),
    (computed_keys, "channels_app.turns", "scope = 'direct_' + peer"),
    (computed_keys, "sessions_app.keepsakes", "scope = '%s:%s:group_%s' % (platform, account, chat)"),
    (computed_keys, "sessions_app.keepsakes", "scope = ':'.join([platform, 'group_' + chat])"),
    (computed_keys, "memories.retrieval", "peer = scope.key.partition('direct_')[2]"),
    (computed_keys, "memories.retrieval", "is_group = ':group_' in key or key.split(':group_')"),
    (computed_keys, "sessions_app.locks", "key = hashlib.sha1(chat.encode()).hexdigest()"),
    (computed_keys, "sessions_app.locks", "from hashlib import sha1"),
    (computed_keys, "channels_app.addressing", "from memories.scoping import _session_key"),
    (oversize, "memories.text", "x = 1\n" * FILE_LINES),
    (oversize, "memories.text", "def f():\n" + "    x = 1\n" * (FUNCTION_LINES - 1)),
    (oversize, "memories.text", "class C:\n    async def f():\n" + "        x = 1\n" * (FUNCTION_LINES - 1)),
]  # fmt: skip
KEPT: list[tuple[Rule, str, str]] = [
    (computed_keys, "memories.scoping", "key = f'{platform}:direct_{peer}'"),
    (computed_keys, "channels_app.models", "Q(group_prefix__startswith='direct_')"),
    (computed_keys, "channels_app.models", "f'{name} direct chats: {what}_group_{n}'"),
    (computed_keys, "sessions_app.locks", "hashlib.blake2b(named, digest_size=8)"),
    (upward_imports, "channels_app.turns", "from sessions_app import conversations\nfrom memories import store"),
    (upward_imports, "memories.models.change", "who = 'memplatform.actor'"),
    (upward_imports, "memplatform.settings", "APPS = ['channels_app.apps.ChannelsConfig']"),
    (broken_layers, "memories.scoping", "from memories.text import is_storable"),
    (broken_layers, "memories.store.intake", "from memories import indexing, text\nfrom memories.store import locks"),
    (broken_layers, "memories.retrieval.receipts", "from memories.retrieval.query import Query"),
    (broken_layers, "memories.evaluation.run", "from memories import embedder\nfrom memories.retrieval import recall"),
    (broken_layers, "memories", "x = 1"),
    (read_clocks, "memories.api.clock", "timezone.now()"),
    (read_clocks, "channels_app.api.views", "timezone.now()"),
    (read_clocks, "memplatform.health", "timezone.now()"),
    (read_clocks, "memories.retrieval", "time.perf_counter()\ntime.monotonic()\ndatetime.fromtimestamp(0, UTC)"),
    (nameless_modules, "memories.retrieval.need", ""),
    (signals, "memories.management.commands.embedder", "import signal\nsignal.signal(signal.SIGTERM, stop)"),
    (broad_excepts, "memories.embeddings", "try:\n    f()\nexcept (OSError, json.JSONDecodeError):\n    pass"),
    (back_doors, "memories.store.intake", "Entry.objects.bulk_create([Entry(content='x')])"),
    (back_doors, "memories.retrieval", "Entry.objects.in_bulk(ids)\nentries = {}\nentries.update(a=1)"),
    (back_doors, "memories.indexing", "cursor.execute('UPDATE memories_entryindex SET x = 1')"),
    (back_doors, "memories.capture", "EntryAccess.objects.create(entry=entry)\nNewEntry(data=x)\nslot.save()"),
    (oversize, "memories.text", "x = 1\n" * (FILE_LINES - 1)),
    (oversize, "memories.text", "def f():\n" + "    x = 1\n" * (FUNCTION_LINES - 2)),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "name", "text"), BROKEN)
def test_a_broken_rule_is_noticed(rule: Rule, name: str, text: str) -> None:
    assert rule(Source(name, text)) != []


@pytest.mark.parametrize(("rule", "name", "text"), KEPT)
def test_what_only_looks_like_it_breaks_no_rule(rule: Rule, name: str, text: str) -> None:
    assert rule(Source(name, text)) == []


def test_a_relative_import_is_followed_from_a_package_too() -> None:
    assert broken_layers(Source("memories.store", "from ..retrieval import recall", is_package=False)) == []
    assert broken_layers(Source("memories.store", "from .retrieval import recall", is_package=True)) == []
    assert broken_layers(Source("memories.store", "from ..retrieval import recall", is_package=True)) != []
