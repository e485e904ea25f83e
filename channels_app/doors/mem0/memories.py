"""Memories by mem0's client: added, searched, listed, read, changed and put out of use."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from channels_app.addresses import resolve_address, visible_session
from channels_app.doors.files.calls import after_turn
from channels_app.doors.mem0.answers import (
    added_answer,
    address_of,
    history_answers,
    memory_answers,
    metadata_of,
    slot_name,
    slots_of_metadata,
)
from channels_app.doors.mem0.calls import (
    Ids,
    Ignored,
    Mem0Call,
    Mem0Method,
    NotSupported,
    Tolerant,
    Unsupported,
    parsed_id,
    plain_ids,
)
from channels_app.doors.mem0.filters import filtered, ids_filter, live_entries, span
from channels_app.turns import TurnResult, save, take_turn
from memories import entries
from memories.api import fields
from memories.batches import bulk_actions
from memories.choices import EntryType, NeedMode, Origin, Outcome, Permission, ScopeKind, Source
from memories.consolidation.capture import Turn
from memories.entries import WriteResult
from memories.exceptions import EntryNotFound
from memories.language.confidential import find_secrets, is_masked_form, mask
from memories.language.secret_forms import MASKED
from memories.language.text import is_blank
from memories.models import Entry, Scope
from memories.notes.freshness import sync_before_search
from memories.recall import Query, SearchScope, recall
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address, ScopeRef
from sessions_app.models import EventKind

#: In one request, and of these new ones: some clients send their whole conversation again with each message.
MOST_MESSAGES, MOST_NEW = 2_000, 200
USER, ASSISTANT = "user", "assistant"
_EVENTS = {Outcome.CREATED: "ADD", Outcome.MERGED: "UPDATE", Outcome.SKIPPED: "NONE"}
_CHAT_CHARS = 200  # as the chat of an address


class Words(fields.LongText):
    """What a message says: a text, or parts of which each is a text."""

    def to_internal_value(self, data: Any) -> str:
        if isinstance(data, dict):
            data = [data]
        if isinstance(data, list):
            if not all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in data):
                raise NotSupported(_("Only texts are remembered, no images or documents."))
            data = "\n".join(part["text"] for part in data)
        return super().to_internal_value(data)


class MessageField(serializers.Serializer[Any]):
    """A message, as bots have them for their model; what a system or a tool said is nobody's memory."""

    role = fields.Text(max_length=40)
    content = Words(allow_blank=True, allow_null=True, default="")

    def validate_content(self, value: str | None) -> str:
        return value or ""


class Messages(serializers.ListField):
    """Messages, or one of them, or the text of one."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, str):
            data = {"role": USER, "content": data}
        return super().to_internal_value([data] if isinstance(data, dict) else data)


class NewMemories(Ids):
    """Messages to remember, for whom, and how."""

    messages = Messages(child=MessageField(), allow_empty=False, max_length=MOST_MESSAGES)
    metadata = serializers.DictField(required=False, allow_null=True)
    infer = fields.YesNo(default=True, allow_null=True)
    timestamp = serializers.JSONField(required=False, allow_null=True)
    expiration_date = fields.Text(required=False, allow_null=True, max_length=10)
    output_format = serializers.JSONField(required=False, allow_null=True)
    async_mode, version, enable_graph = Ignored(), Ignored(), Ignored()
    custom_categories, custom_instructions, agent_custom_instructions = Unsupported(), Unsupported(), Unsupported()
    structured_data_schema, immutable, includes, excludes = Unsupported(), Unsupported(), Unsupported(), Unsupported()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        address = address_of(plain_ids(attrs))
        if len(address.chat) > _CHAT_CHARS or len(address.peer) > _CHAT_CHARS:
            raise serializers.ValidationError({"filters": [_("These ids are too long.")]})
        return attrs


class Adding(Mem0Call):
    """Messages are remembered: as turns, from which facts are drawn where a model is configured, or as they are."""

    def add(self) -> list[dict[str, Any]]:
        """Remember the messages of a request; what became of each."""
        ids, body = plain_ids(self.body), self.body
        address = address_of(ids)
        slots = slots_of_metadata(body.get("metadata") or {}) | ids
        at = self.now if body.get("timestamp") is None else span(body["timestamp"], self.caller.zone)[0]
        fields.check_past("timestamp", at, self.now)
        ends = body.get("expiration_date")
        turns: list[tuple[Turn, TurnResult]] = []
        with transaction.atomic():
            if body["infer"] is False:
                expires_at = span(ends, self.caller.zone)[1] if ends else None
                fields.check_ahead("expiration_date", expires_at, self.now)
                results = self._as_they_are(address, slots, at, expires_at)
            elif ends:
                raise NotSupported(_("What is drawn from a conversation has no expiration_date; say infer=False."))
            else:
                new_turns = [
                    Turn(address=address, user=user, assistant=assistant, at=at, slots=slots)
                    for user, assistant in _turns(self._new_messages(address))
                ]
                turns = [(turn, take_turn(self.caller, turn, now=self.now)) for turn in new_turns]
                results = [result for _turn, turn_result in turns for result in turn_result.written]
        for turn, result in turns:
            after_turn(self.caller, turn, result, now=self.now)
        return [
            {"id": result.entry.uid, "memory": result.entry.content, "event": _EVENTS[result.outcome]}
            for result in results
            if result.is_kept
        ]

    def _new_messages(self, address: Address) -> list[Mapping[str, str]]:
        """The messages without those at their beginning by which the conversation ends here: a client sent it again.

        A single turn is always new: people do say the same twice. Raises ValidationError.
        """
        messages = [message for message in self.body["messages"] if message["role"] in (USER, ASSISTANT)]
        if len(messages) > 2 and (session := visible_session(self.caller, resolve_address(self.caller, address))):
            rows = session.messages().filter(kind__in=(EventKind.USER, EventKind.ASSISTANT)).order_by("-position")
            stored = list(rows.values_list("kind", "content")[: len(messages)])[::-1]
            with_words = [message for message in messages if not is_blank(message["content"])]
            if repeat_count := known_count(with_words, stored):
                messages = with_words[repeat_count:]
        return _few(messages)

    def _as_they_are(
        self, address: Address, slots: Mapping[str, str], at: datetime, expires_at: datetime | None
    ) -> list[WriteResult]:
        messages = _few([message for message in self.body["messages"] if message["role"] in (USER, ASSISTANT)])
        more: dict[str, Any] = {"type": EntryType.USER_EXPLICIT, "source": Source.TOOL, "expires_at": expires_at}
        kind = ScopeKind.CHAT if address.is_group else ScopeKind.USER
        speaker = Origin.MEMBER if address.is_group else Origin.SELF
        return [
            save(
                self.caller,
                address,
                kind=kind,
                slots=slots,
                now=self.now,
                at=at,
                content=message["content"],
                origin=speaker if message["role"] == USER else Origin.BOT,
                **more,
            )
            for message in messages
            if not is_blank(message["content"]) or len(messages) == 1
        ]


def _few(messages: list[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """The same messages. Raises ValidationError where they are more than one request takes."""
    if len(messages) > MOST_NEW:
        raise ValidationError({"messages": [_("At most %(most)d new messages at once.") % {"most": MOST_NEW}]})
    return messages


class AddView(Adding):
    """Remember messages."""

    @Mem0Method("mem0_add", Permission.WRITE, None, body=NewMemories)
    def post(self) -> Response:
        return Response(added_answer(self.add()))


def _turns(messages: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """What a user said and what was answered, by turns; either may be missing."""
    user, answers = "", list[str]()
    for message in messages:
        if message["role"] == ASSISTANT:
            answers.append(message["content"])
        elif message["role"] == USER:
            if user or answers:
                yield user, "\n".join(answers)
            user, answers = message["content"], []
    if user or answers:
        yield user, "\n".join(answers)


MOST_SCOPES = 200
PAGE_SIZE, PAGE_SIZE_MAX = 100, 200


class Narrowed(Ids):
    """Which memories are meant."""

    metadata = serializers.DictField(required=False, allow_null=True)
    categories = serializers.ListField(child=fields.Text(), required=False, allow_null=True)
    fields_ = serializers.ListField(child=fields.Text(), required=False, allow_null=True)
    show_expired = Unsupported()
    output_format = serializers.JSONField(required=False, allow_null=True)
    latest_only, version, keyword_search, rerank = Ignored(), Ignored(), Ignored(), Ignored()


class SearchRequest(Narrowed):
    """A question to the memories that are meant."""

    query = fields.LongText()
    top_k = fields.Whole(min_value=1, max_value=100, required=False, allow_null=True)
    limit = fields.Whole(min_value=1, max_value=100, required=False, allow_null=True)
    threshold = fields.Number(min_value=0, max_value=1, required=False, allow_null=True)
    reference_date = Unsupported()


class ListRequest(Narrowed):
    """All memories that are meant, of a stretch of time."""

    start_date = serializers.JSONField(required=False, allow_null=True)
    end_date = serializers.JSONField(required=False, allow_null=True)


class PageQuery(Tolerant):
    """Which page of a list."""

    page = serializers.IntegerField(min_value=1, max_value=100_000, default=1)
    page_size = serializers.IntegerField(min_value=1, max_value=PAGE_SIZE_MAX, default=PAGE_SIZE)


def narrowed(caller: Caller, data: Mapping[str, Any], now: datetime) -> QuerySet[Entry]:
    """The memories a request means."""
    beside = {
        "metadata": data.get("metadata"),
        "categories": data.get("categories"),
        "created_at": {
            operator: data[name] for operator, name in (("gte", "start_date"), ("lte", "end_date")) if data.get(name)
        },
    }
    parts = [ids_filter(data), {name: value for name, value in beside.items() if value}]
    return filtered(caller, {"AND": parts}, now)


class Searching(Mem0Call):
    """The memories that bear on a question, by the ranking of every recall."""

    def search(self) -> list[dict[str, Any]]:
        """What a request asks for, best first."""
        search, least = self.body, self.body.get("threshold") or 0
        caller, among = self.caller, narrowed(self.caller, search, self.now)
        scopes = list(Scope.objects.filter(pk__in=among.values("scope"))[: MOST_SCOPES + 1])
        if len(scopes) > MOST_SCOPES:
            text = _("More than %(most)d people's memories are meant; name fewer users.") % {"most": MOST_SCOPES}
            raise ValidationError({"filters": [text]})
        is_pending = sync_before_search(caller, [scope.key for scope in scopes], now=self.now)
        query = Query(
            workspace_id=caller.workspace_id,
            bot_id=caller.bot_id,
            language=caller.language,
            places=[SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind)) for scope in scopes],
            message=search["query"],
            is_index_pending=is_pending,
            limit=search.get("top_k") or search.get("limit") or 10,
            need=NeedMode.OFF,
            quotas=False,
            nearest=True,  # as mem0: a search is answered with what is nearest, and `threshold` says what is too far
            token_budget=0,
            among=among,
        )
        nearest = recall(query, now=self.now, zone=caller.zone).served
        items = [item for item in nearest if item.score >= least]
        found_here = Entry.objects.filter(workspace_id=self.caller.workspace_id)  # a recall reads only what it ranks by
        rows = found_here.in_bulk([item.entry.pk for item in items])
        answers = memory_answers([rows[item.entry.pk] for item in items], self.caller)
        results = [
            answer | {"score": round(min(1.0, max(0.0, item.score)), 4)}
            for answer, item in zip(answers, items, strict=True)
        ]
        return [_chosen(answer, search.get("fields")) for answer in results]


class SearchView(Searching):
    """Search."""

    @Mem0Method("mem0_search", Permission.READ, None, body=SearchRequest, from_replica=True)
    def post(self) -> Response:
        return Response({"results": self.search()})


def _chosen(answer: dict[str, Any], names: list[str] | None) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if not names or name in ("id", *names)}


class Listing(Mem0Call):
    """All memories that are meant, newest first, a page at a time."""

    def page(self, data: Mapping[str, Any], page: int, size: int) -> dict[str, Any]:
        """A page of the memories a request means, with how many there are and the addresses of its neighbours."""
        rows = narrowed(self.caller, data, self.now)
        count = rows.count()
        page_rows = list(rows.order_by("-created_at", "-id")[(page - 1) * size : page * size])
        answers = [_chosen(answer, data.get("fields")) for answer in memory_answers(page_rows, self.caller)]
        before, after = (self._address(page - 1) if page > 1 else None), page * size < count
        next_address = self._address(page + 1) if after else None
        return {"count": count, "next": next_address, "previous": before, "results": answers}

    def _address(self, page: int) -> str:
        return replace_query_param(self.request.build_absolute_uri(), "page", str(page))


class ListView(Listing):
    """The list."""

    @Mem0Method("mem0_list", Permission.READ, None, query=PageQuery, body=ListRequest)
    def post(self) -> Response:
        return Response(self.page(self.body, self.query["page"], self.query["page_size"]))


MOST_DELETED, MOST_CHANGED = 500, 100


class Changes(Tolerant):
    """New words, other metadata in place of the old, another end; null: none."""

    text = fields.Text(required=False, max_length=8_000)
    metadata = serializers.DictField(required=False, allow_null=True)
    expiration_date = fields.Text(required=False, allow_null=True, max_length=10)
    timestamp = Unsupported()


class NamedMemory(Tolerant):
    """A memory by its id."""

    memory_id = fields.Text(max_length=100)


class NamedChanges(Changes, NamedMemory):
    """Changes of a memory."""


class NamedMemories(Tolerant):
    """Memories by their ids."""

    memories = serializers.ListField(child=NamedMemory(), allow_empty=False, max_length=MOST_DELETED)


class ManyChanges(Tolerant):
    """Changes of several memories."""

    memories = serializers.ListField(child=NamedChanges(), allow_empty=False, max_length=MOST_CHANGED)


class DeleteQuery(Tolerant):
    """A superseded memory does not come back when the newer one goes."""

    delete_linked = Ignored()


class OneMemory(Mem0Call):
    """What is done with a memory by its id."""

    def change(self, memory_id: str, changes: dict[str, Any]) -> Entry:
        """Change what is named of a memory."""
        entry, columns, slots = self.entry(memory_id), {}, dict[str, str | None]()
        if "text" in changes:
            columns["content"] = changes["text"]
        if "expiration_date" in changes:
            ends = changes["expiration_date"]
            columns["expires_at"] = span(ends, self.caller.zone)[1] if ends else None
            fields.check_ahead("expiration_date", columns["expires_at"], self.now)
        if changes.get("metadata") is not None:
            slots = {slot_name(name): None for name in metadata_of(entry.slots.all())}
            slots |= slots_of_metadata(changes["metadata"])
        edit = entries.Edit(columns=columns, slots=slots)
        return entries.update(entry, edit, now=self.now, actor=self.caller.actor)

    def take_out(self, entry: Entry) -> None:
        """Take a memory out of use, and its copies with it."""
        along, reach = entries.is_own_statement(entry), self.caller.may_reach
        entries.expire_with_copies(entry, along=along, reach=reach, now=self.now, actor=self.caller.actor)

    def answer(self, entry: Entry) -> dict[str, Any]:
        return memory_answers([Entry.objects.get(pk=entry.pk, workspace_id=entry.workspace_id)], self.caller)[0]


class MemoryView(OneMemory):
    """Read a memory, change it, take it out of use."""

    @Mem0Method("mem0_get", Permission.READ, None)
    def get(self, memory_id: str) -> Response:
        return Response(self.answer(self.entry(memory_id)))

    @Mem0Method("mem0_update", Permission.WRITE, None, body=Changes)
    def put(self, memory_id: str) -> Response:
        return Response(self.answer(self.change(memory_id, self.body)))

    @Mem0Method("mem0_delete", Permission.WRITE, None, query=DeleteQuery)
    def delete(self, memory_id: str) -> Response:
        self.take_out(self.entry(memory_id))
        return Response({"message": _("The memory is out of use.")})


class HistoryView(OneMemory):
    """What became of a memory since it was added."""

    @Mem0Method("mem0_history", Permission.READ, None)
    def get(self, memory_id: str) -> Response:
        return Response(history_answers(self.entry(memory_id), self.caller))


class BatchView(OneMemory):
    """Several memories by their ids: all of them, or none."""

    @Mem0Method("mem0_batch_update", Permission.WRITE, None, body=ManyChanges)
    def put(self) -> Response:
        with transaction.atomic():
            for changes in self.body["memories"]:
                self.change(changes["memory_id"], changes)
        return Response({"message": _("%(n)d memories are changed.") % {"n": len(self.body["memories"])}})

    @Mem0Method("mem0_batch_delete", Permission.WRITE, None, body=NamedMemories)
    def delete(self) -> Response:
        ids = {parsed_id(memory["memory_id"]) for memory in self.body["memories"]}
        rows = live_entries(self.caller, self.now).filter(uid__in=ids)
        if rows.count() != len(ids):
            raise EntryNotFound
        self.retire(rows, bulk_actions.EXPIRE)  # no machine writes them again
        return Response({"message": _("%(n)d memories are out of use.") % {"n": len(ids)}})


def known_count(messages: Sequence[Mapping[str, str]], rows: Sequence[tuple[str, str]]) -> int:
    """How many messages at the beginning are the end of the rows; the last one is new in any case.

    They are compared as they are stored: answers that follow one another are one row there, line by line, and secrets
    are taken out of all of them.
    """
    stored_lines = [line for row in rows for line in _lines(*row)]
    stored, texts = "".join(stored_lines), list(_as_stored(messages, stored_lines))
    sent, ends = "".join(texts), list(accumulate(map(len, texts)))
    counts = range(min(len(texts), len(messages) - 1), 0, -1)
    likely = (count for count in counts if stored.endswith(texts[count - 1]))  # the whole is long to compare
    return next((count for count in likely if stored.endswith(sent[: ends[count - 1]])), 0)


def _as_stored(messages: Sequence[Mapping[str, str]], stored_lines: Sequence[str]) -> Iterator[str]:
    """The messages in the form they are stored in, up to the first one that is stored nowhere."""
    known = set(stored_lines)
    masked_lines = sorted((line for line in known if MASKED in line), key=len, reverse=True)  # what says most, first
    values = set[str]()  # of the secrets of a turn: an answer repeats them
    for message in messages:
        role, content = message["role"], message["content"]
        values = set() if role == EventKind.USER else values
        lines = _lines(role, content)
        if not known.issuperset(lines):
            values |= {secret.value for secret in find_secrets(content)}
            lines = [
                line if line in known else next((form for form in masked_lines if is_masked_form(form, line)), "")
                for line in _lines(role, mask(content, values))
            ]
            if not all(lines):
                return
        yield "".join(lines)


def _lines(role: str, content: str) -> list[str]:
    """The lines of an answer, or the whole of what a user said, each begun by what no text holds."""
    lines = [content] if role == EventKind.USER else content.splitlines()
    return [f"\0{role} {line}" for line in lines if not is_blank(line)]
