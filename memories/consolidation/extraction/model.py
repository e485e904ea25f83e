"""What a model says a conversation leaves behind (D5): one question, an answer that names only what it was shown.

Of what is remembered it is shown facts and projects of the one scope that may hold the whole conversation, and of no
other: what came of it could be heard by all of them. A day is described by sentences of its summary that hold, else by
the most telling ones of its messages.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain, zip_longest
from zoneinfo import ZoneInfo

from memories import embeddings, llm
from memories.choices import Category, EntryType, ScopeKind
from memories.conf import conf
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages
from memories.entries.daily_events import EventDraft
from memories.index import scope_statistics, search_rows
from memories.language import summary as summaries
from memories.language import text
from memories.llm import prompts, schemas
from memories.models import Entry, Workspace

PURPOSE = "extraction"
_PROJECTS = 50
_PROBES = 30  # rarest terms of a conversation by which facts are looked for
_LOOKED_AT = 200
#: So much of one message is shown, its head and its tail: twice the characters an extraction batch has tokens.
_CHARS_A_TOKEN = 2


@dataclass(frozen=True)
class ExtractionQuestion:
    """What a model is shown: messages and facts, by the short ids it names them by."""

    messages: dict[str, ScopedMessage]
    whole: ScopeMessages | None = None  # of the scope that may hold all of it
    facts: dict[str, Entry] = field(default_factory=dict)
    projects: tuple[str, ...] = ()


def is_on() -> bool:
    """Whether a model is asked at all: a budget of nothing is no reason to wait for tomorrow."""
    return llm.is_on() and conf.LLM_DAILY_TOKENS > 0


def build_question(messages: Sequence[ScopedMessage], scopes: Sequence[ScopeMessages]) -> ExtractionQuestion:
    """What a model is shown of these messages, with facts and projects of the scope that may hold them all."""
    ids = {scoped.message.id for scoped in messages}
    numbered = {f"m{n}": scoped for n, scoped in enumerate(messages, start=1)}
    whole = next((scope for scope in scopes if scope.holds(ids)), None)
    if whole is None:
        return ExtractionQuestion(numbered)
    # The facts that share most with the conversation by its rare words, and those nearest by meaning, in turn: at most
    # half of them are there for their meaning alone, as something is nearest to whatever is written.
    facts: dict[int, Entry] = {}
    if conf.KNOWN_FACTS > 0:
        near = _near_facts(whole)
        in_turn = chain.from_iterable(zip_longest(_sharing_facts(whole), near))
        facts = {fact.pk: fact for fact in in_turn if fact is not None}
    by_name = {f"f{n}": fact for n, fact in enumerate(list(facts.values())[: max(conf.KNOWN_FACTS, 0)], start=1)}
    projects = [name for name in whole.scope.projects if name != schemas.NO_PROJECT]
    return ExtractionQuestion(numbered, whole, by_name, tuple(projects[:_PROJECTS]))


def _near_facts(whole: ScopeMessages) -> list[Entry]:
    """«I live in Porto» to «I moved to Braga»: none where nothing is embedded, or the embedder was away."""
    model = embeddings.searched_model(whole.scope.workspace_id)
    if model is None or not whole.messages:
        return []
    near = search_rows.facts_near_messages(
        whole.scope,
        model,
        origins=(scoped.message.id for scoped in whole.messages),
        sessions=(scoped.turn.place.get("session_id", "") for scoped in whole.messages),
        since=min(scoped.message.at for scoped in whole.messages),
        most=(conf.KNOWN_FACTS + 1) // 2,
    )
    facts = Entry.objects.in_scope(whole.scope).live().in_bulk(near)
    return [facts[pk] for pk in near if pk in facts]


def _sharing_facts(whole: ScopeMessages) -> list[Entry]:
    """The facts with the rarest words of a conversation, those that share most of them first."""
    own = {term for scoped in whole.messages for term in text.terms(scoped.message.content)}
    counts = {term: n for (_scope, term), n in scope_statistics.frequencies([whole.scope.pk], own).items() if n > 0}
    probe = sorted(counts, key=lambda term: (counts[term], term))[:_PROBES]
    if not probe:
        return []
    latest = Entry.objects.in_scope(whole.scope).live().filter(type=EntryType.FACT, terms__overlap=probe)
    facts = list(latest.order_by("-stated_at", "-pk")[:_LOOKED_AT])
    shared = {fact.pk: sum(1 / counts[term] for term in fact.terms if term in counts) for fact in facts}
    return sorted(facts, key=lambda fact: -shared[fact.pk])[: conf.KNOWN_FACTS]


def ask_model(
    question: ExtractionQuestion, workspace: Workspace, *, now: datetime, judge: llm.Judge[schemas.ExtractionOutput]
) -> llm.ModelAnswer[schemas.ExtractionOutput]:
    """Outside any transaction. Raises ModelOff, ModelFailed, BudgetSpent, AnswerInvalid.

    Facts that stay unusable through all corrections are left out, and counted: the others do not wait with them.
    """
    zone, limit = workspace.zone(), conf.TOKEN_CAP * _CHARS_A_TOKEN
    data = {
        "known_projects": list(question.projects),
        "known_facts": [{"id": name, "content": fact.content} for name, fact in question.facts.items()],
        "messages": [
            {
                "id": name,
                "role": scoped.message.role,
                "speaker": scoped.speaker,
                "content": text.smart_truncate(scoped.message.content, limit),
                "at": scoped.message.at.astimezone(zone).isoformat(timespec="seconds"),
            }
            for name, scoped in question.messages.items()
        ],
    }
    values: dict[str, int | str] = {"categories": ", ".join(Category.values), "max_facts": schemas.MAX_FACTS}
    prompt = prompts.prompt("extraction", workspace.language, data, **values)
    return llm.ask(
        workspace,
        PURPOSE,
        prompt,
        schemas.ExtractionOutput,
        now=now,
        given=schemas.Given(frozenset({*question.messages, *question.facts}), frozenset(question.facts)),
        judge=judge,
        in_part="facts",
    )


def summarise_days(scoped: ScopeMessages, zone: ZoneInfo) -> Iterator[EventDraft]:
    """For each local day at most one event; none where it held nothing but pleasantries."""
    weigh = scope_statistics.term_weights(scoped.scope, (item.message.content for item in scoped.messages))
    is_chat = scoped.scope.kind == ScopeKind.CHAT  # where people are called by name; in a person's memory they are not
    by_day: dict[date, list[summaries.Utterance]] = defaultdict(list)
    for item in scoped.messages:
        utterance = summaries.Utterance(
            content=item.message.content,
            origin=item.message.id,
            label=item.speaker if item.is_answer or is_chat else "",
            is_answer=item.is_answer,
        )
        by_day[item.message.at.astimezone(zone).date()].append(utterance)
    for day in sorted(by_day):
        summary = summaries.summarise(by_day[day], weigh, limit=conf.SUMMARY_CHARS)
        if summary.content:
            yield EventDraft(
                scope=scoped.scope,
                local_date=day,
                content=summary.content,
                chats=scoped.chats(summary.origins),
                origins=summary.origins,
            )


def describe_days(
    summary: str, question: ExtractionQuestion, scoped: ScopeMessages, zone: ZoneInfo
) -> Iterator[EventDraft]:
    """The model's summary, where a memory may hold all it speaks of and all of it is of one day.

    Else, and where none of its sentences holds, the most telling sentences of each day.
    """
    messages = list(question.messages.values())
    ids = tuple(item.message.id for item in messages)
    dates = {item.message.at.astimezone(zone).date() for item in messages}
    if summary and len(dates) == 1 and scoped.holds(ids):
        yield EventDraft(
            scope=scoped.scope, local_date=dates.pop(), content=summary, chats=scoped.chats(ids), origins=ids
        )
    else:
        yield from summarise_days(scoped, zone)
