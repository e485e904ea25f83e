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
    undeclared_actions,
    upward_imports,
)

BROKEN: list[tuple[Rule, str, str]] = [
    (upward_imports, "memories.language.text", "import sessions_app.models"),
    (upward_imports, "memories.language.text", "from channels_app import turns"),
    (upward_imports, "sessions_app.models", "from channels_app.models import Channel"),
    (upward_imports, "channels_app.turns", "import memplatform"),
    (upward_imports, "memories.entries.write", "def f():\n    from sessions_app import lifecycle"),
    (upward_imports, "memories.tasks", "run('channels_app.turns.take_turn')"),
    (upward_imports, "memories.language.text", "if TYPE_CHECKING:\n    from sessions_app.models import Session"),
    (broken_layers, "memories.language.text", "from memories.models import Entry"),
    (broken_layers, "memories.models.entry", "from memories import entries"),
    (broken_layers, "memories.embeddings", "import memories.index.search_rows"),
    (broken_layers, "memories.entries.write", "def f():\n    from memories.recall import recall"),
    (broken_layers, "memories.entries.write", "from ..retrieval import recall"),
    (broken_layers, "memories.consolidation.capture", "from memories import recall"),
    (broken_layers, "memories.recall.query", "from memories.consolidation.capture import Turn"),
    (broken_layers, "memories.recall", "from memories.api.calls import Call"),
    (broken_layers, "memories.index.search_rows", "from memories.entries import remember"),
    (broken_layers, "memories.newcomer", "x = 1"),
    (broken_layers, "memories.api.entries", "from memories import newcomer"),
    (read_clocks, "memories.consolidation.capture", "from django.utils import timezone\nnow = timezone.now()"),
    (read_clocks, "memories.models.tenancy", "at = DateTimeField(default=timezone.now)"),
    (read_clocks, "memories.lifecycle.expiry", "import datetime\ndatetime.datetime.now(UTC)"),
    (read_clocks, "sessions_app.conversations", "def f():\n    return datetime.now(UTC)"),
    (read_clocks, "memories.models.tenancy", "time.time()"),
    (read_clocks, "channels_app.turns", "from time import time"),
    (read_clocks, "channels_app.turns", "from django.utils.timezone import now"),
    (read_clocks, "memories.recall.query", "date.today()"),
    (read_clocks, "memories.index.search_rows", "from django.db.models.functions import Now"),
    (nameless_modules, "memories.utils", ""),
    (nameless_modules, "channels_app.services.lark", ""),
    (nameless_modules, "tests.helpers", ""),
    (signals, "memories.entries", "from django.db.models.signals import post_save"),
    (signals, "memories.entries", "from django.db.models import signals"),
    (signals, "memories.entries", "from django.dispatch import receiver"),
    (signals, "memplatform.apps", "def ready():\n    import django.core.signals"),
    (undeclared_actions, "memories.admin.bots", "from unfold.decorators import action, display"),
    (undeclared_actions, "sessions_app.admin.sessions", "@admin.action(permissions=[])\ndef f(self): ..."),
    (broad_excepts, "memories.embeddings", "try:\n    f()\nexcept Exception:\n    pass"),
    (broad_excepts, "memories.embeddings", "try:\n    f()\nexcept:\n    raise"),
    (broad_excepts, "memories.embeddings", "try:\n    f()\nexcept (ValueError, BaseException) as e:\n    pass"),
    (back_doors, "memories.consolidation.capture", "Entry(content='x')"),
    (back_doors, "memories.consolidation.capture", "models.Entry(content='x').save()"),
    (back_doors, "memories.consolidation.capture", "Entry.objects.create(content='x')"),
    (back_doors, "memories.consolidation.capture", "Entry.objects.bulk_create(rows)"),
    (back_doors, "memories.lifecycle.expiry", "Entry.objects.in_scope(scope).filter(pk=1).update(pinned=True)"),
    (back_doors, "memories.lifecycle.expiry", "Entry.objects.get(pk=1).save()"),
    (back_doors, "memories.lifecycle.expiry", "entry.save(update_fields=['pinned'])"),
    (back_doors, "memories.lifecycle.expiry", "change.entry.save()"),
    (back_doors, "memories.lifecycle.expiry", "scope.entries.update(pinned=True)"),
    (
        back_doors,
        "memplatform.setup.first_run",
        "from memories.models import Entry as E\nE.objects.update(pinned=True)",
    ),
    (back_doors, "memories.index.search_rows", "cursor.execute('UPDATE memories_entry SET pinned = true')"),
    (back_doors, "memories.index.search_rows", "cursor.execute(f'insert into\\n memories_entry ({x})')"),
    (back_doors, "memories.models.entry", "class EntryQuerySet:\n    def end(self):\n        self.live().update(a=1)"),
    (computed_keys, "channels_app.turns", "scope = f'{platform}:direct_{peer}'"),
    (computed_keys, "channels_app.turns", "scope = 'direct_' + peer"),
    (computed_keys, "sessions_app.summaries", "scope = '%s:%s:group_%s' % (platform, account, chat)"),
    (computed_keys, "sessions_app.summaries", "scope = ':'.join([platform, 'group_' + chat])"),
    (computed_keys, "memories.recall", "peer = scope.key.partition('direct_')[2]"),
    (computed_keys, "memories.recall", "is_group = ':group_' in key or key.split(':group_')"),
    (computed_keys, "sessions_app.conversations", "key = hashlib.sha1(chat.encode()).hexdigest()"),
    (computed_keys, "sessions_app.conversations", "from hashlib import sha1"),
    (computed_keys, "channels_app.platforms.intake", "hashlib.sha1(text.encode())"),
    (computed_keys, "channels_app.platforms.tencent", "scope = 'direct_' + peer"),
    (computed_keys, "channels_app.addresses", "from memories.tenancy.resolver import _session_key"),
    (oversize, "memories.language.text", "x = 1\n" * FILE_LINES),
    (oversize, "memories.language.text", "def f():\n" + "    x = 1\n" * (FUNCTION_LINES - 1)),
    (oversize, "memories.language.text", "class C:\n    async def f():\n" + "        x = 1\n" * (FUNCTION_LINES - 1)),
]  # fmt: skip
KEPT: list[tuple[Rule, str, str]] = [
    (computed_keys, "memories.tenancy.resolver", "key = f'{platform}:direct_{peer}'"),
    (computed_keys, "channels_app.models", "Q(group_prefix__startswith='direct_')"),
    (computed_keys, "channels_app.models", "f'{name} direct chats: {what}_group_{n}'"),
    (computed_keys, "sessions_app.conversations", "hashlib.blake2b(named, digest_size=8)"),
    (computed_keys, "channels_app.platforms.tencent", "hashlib.sha1(signed.encode())"),
    (upward_imports, "channels_app.turns", "from sessions_app import lifecycle\nfrom memories import entries"),
    (upward_imports, "memories.models.change", "who = 'memplatform.actor'"),
    (upward_imports, "memplatform.settings", "APPS = ['channels_app.apps.ChannelsConfig']"),
    (broken_layers, "memories.tenancy.resolver", "from memories.language.text import is_storable"),
    (broken_layers, "memories.entries.write", "from memories.index import worker\nfrom memories.entries import locks"),
    (broken_layers, "memories.recall.traces", "from memories.recall.query import Query"),
    (broken_layers, "memories.evaluation.a", "from memories.index import worker\nfrom memories.recall import recall"),
    (broken_layers, "memories", "x = 1"),
    (read_clocks, "memories.api.requests", "timezone.now()"),
    (read_clocks, "channels_app.api.recall", "timezone.now()"),
    (read_clocks, "memplatform.operations.health", "timezone.now()"),
    (read_clocks, "memories.recall", "time.perf_counter()\ntime.monotonic()\ndatetime.fromtimestamp(0, UTC)"),
    (nameless_modules, "memories.recall.gate", ""),
    (signals, "memories.management.commands.embedder", "import signal\nsignal.signal(signal.SIGTERM, stop)"),
    (undeclared_actions, "memories.admin.bots", "from unfold.decorators import display\naction = asked.action"),
    (broad_excepts, "memories.embeddings", "try:\n    f()\nexcept (OSError, json.JSONDecodeError):\n    pass"),
    (back_doors, "memories.entries.write", "Entry.objects.bulk_create([Entry(content='x')])"),
    (back_doors, "memories.recall", "Entry.objects.in_bulk(ids)\nentries = {}\nentries.update(a=1)"),
    (back_doors, "memories.index.search_rows", "cursor.execute('UPDATE memories_entryindex SET x = 1')"),
    (back_doors, "memories.consolidation.capture", "EntryAccess.objects.create(a=x)\nNewEntry(data=x)\nslot.save()"),
    (oversize, "memories.language.text", "x = 1\n" * (FILE_LINES - 1)),
    (oversize, "memories.language.text", "def f():\n" + "    x = 1\n" * (FUNCTION_LINES - 2)),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "name", "text"), BROKEN)
def test_a_broken_rule_is_noticed(rule: Rule, name: str, text: str) -> None:
    assert rule(Source(name, text)) != []


@pytest.mark.parametrize(("rule", "name", "text"), KEPT)
def test_what_only_looks_like_it_breaks_no_rule(rule: Rule, name: str, text: str) -> None:
    assert rule(Source(name, text)) == []


def test_a_relative_import_is_followed_from_a_package_too() -> None:
    assert broken_layers(Source("memories.entries", "from ..retrieval import recall", is_package=False)) == []
    assert broken_layers(Source("memories.entries", "from .retrieval import recall", is_package=True)) == []
    assert broken_layers(Source("memories.entries", "from ..retrieval import recall", is_package=True)) != []
