"""What a model would cost in a week, before it is switched on: calls, tokens and money at the traffic there was (D7).

Reckoned from the messages of the last week, as the buffer would have put them together, and from the prompts as they
are. How much a model writes is an assumption, until it has been asked: then what it wrote on average is taken.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from math import ceil
from typing import Any

from django.db import connection
from django.db.models import F, Sum
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memories.conf import conf
from memories.consolidation.extraction import model as extraction
from memories.language.text import count_tokens
from memories.llm import parsing, prompts, schemas
from memories.models import Spend, Workspace

WEEK = timedelta(days=7)
#: Of a message in a prompt beside its words: id, role, speaker, time. Of a fact that is shown: all of it.
_MESSAGE_TOKENS, _SHOWN_FACT_TOKENS = 35, 25
#: What a model is taken to write: facts of a turn, tokens of a fact with its quote, of a summary.
_FACTS_A_TURN, _FACT_TOKENS, _SUMMARY_TOKENS = 0.5, 75, 100
#: A claim in a prompt and its verdict; the claims beside the facts of a conversation: its summary, and decoys.
_CLAIM_TOKENS, _VERDICT_TOKENS, _OTHER_CLAIMS = 45, 14, 5
#: With fewer calls an average says nothing.
_LEAST_CALLS = 20

#: Stretches of talk in which nobody was silent for longer than the gap.
_STRETCHES = """
WITH spoken AS (
    SELECT e.session_id, e.conversation, e.position, e.at, e.tokens, e.kind,
        e.at - lag(e.at) OVER (PARTITION BY e.session_id, e.conversation ORDER BY e.position) > %(gap)s AS is_later
    FROM sessions_app_sessionevent e
    WHERE e.workspace_id = %(workspace)s AND e.at > %(since)s AND e.at <= %(now)s AND e.kind IN ('user', 'assistant')
), numbered AS (
    SELECT *, count(*) FILTER (WHERE is_later)
        OVER (PARTITION BY session_id, conversation ORDER BY position) AS stretch
    FROM spoken
)
SELECT max(at) + %(gap)s, sum(tokens), count(*), count(*) FILTER (WHERE kind = 'user')
FROM numbered GROUP BY session_id, conversation, stretch ORDER BY 1
"""


@dataclass(frozen=True)
class Stretch:
    """A conversation until it was quiet, as far as one question holds it; `at` is when it would have been read."""

    at: datetime
    tokens: int
    messages: int
    turns: int

    @property
    def facts(self) -> int:
        return min(ceil(self.turns * _FACTS_A_TURN), schemas.MAX_FACTS)

    @property
    def shown_tokens(self) -> int:
        """Of its messages in a prompt."""
        return self.tokens + self.messages * _MESSAGE_TOKENS


@dataclass(frozen=True)
class Cost:
    """Calls and tokens of a week."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def calls_label(self) -> str:
        return f"{self.calls:,}"

    @property
    def tokens_label(self) -> str:
        return f"{self.tokens:,}"

    def money(self, price_in: float, price_out: float) -> float:
        """At prices for a million tokens of questions and of answers."""
        return (self.prompt_tokens * price_in + self.completion_tokens * price_out) / 1_000_000


@dataclass(frozen=True)
class Forecast:
    """What reading the conversations of a week comes to, in each of three ways."""

    workspace: Workspace
    stretches: Sequence[Stretch]
    answer_tokens: float | None = None  # of one extraction, where the model was asked often enough

    @cached_property
    def extraction(self) -> Cost:
        """One question a conversation: all there is where nobody reads a second time (MEMORY_VERIFY=no)."""
        fixed_tokens = self._fixed("extraction", schemas.ExtractionOutput) + conf.KNOWN_FACTS // 2 * _SHOWN_FACT_TOKENS
        prompt = sum(fixed_tokens + stretch.shown_tokens for stretch in self.stretches)
        answer = sum(
            _SUMMARY_TOKENS + stretch.facts * _FACT_TOKENS if self.answer_tokens is None else self.answer_tokens
            for stretch in self.stretches
        )
        return Cost(len(self.stretches), prompt, round(answer))

    @cached_property
    def verified_alone(self) -> Cost:
        """With a second reading of each conversation (MEMORY_READ_TOGETHER=1)."""
        return self.extraction + self._reading([[stretch] for stretch in self.stretches])

    @cached_property
    def verified(self) -> Cost:
        """With a second reading of those that are quiet together: as it is configured by default."""
        return self.extraction + self._reading(list(groups(self.stretches)))

    def _reading(self, grouped: Sequence[Sequence[Stretch]]) -> Cost:
        fixed_tokens = self._fixed("verification", schemas.ReadingOutput)
        claims = [sum(stretch.facts + _OTHER_CLAIMS for stretch in group) for group in grouped]
        shown_tokens = sum(stretch.shown_tokens for stretch in self.stretches)
        prompt = fixed_tokens * len(grouped) + shown_tokens + sum(claims) * _CLAIM_TOKENS
        return Cost(len(grouped), prompt, sum(claims) * _VERDICT_TOKENS)

    def _fixed(self, name: str, schema: type[schemas.ExtractionOutput] | type[schemas.ReadingOutput]) -> int:
        """Of the instructions and the form of a question, whatever it is about."""
        language = self.workspace.language if self.workspace.language in prompts.LANGUAGES else "en"
        form = str(parsing.wire_schema(schema, schemas.Given()))
        return count_tokens(prompts.template(name, language)) + count_tokens(form)


@dataclass(frozen=True)
class Way:
    """A way to have conversations read, with what it costs and what its facts may do."""

    label: Promise
    effect: Promise
    setting: str
    cost: Cost
    is_configured: bool


def ways(week: Forecast) -> list[Way]:
    """The ways there are, that of the settings marked."""
    together = conf.READ_TOGETHER > 1
    return [
        Way(
            _("Read twice, conversations together"),
            _("Verified facts may enter the profile, be merged, and replace older ones."),
            "",
            week.verified,
            conf.VERIFY and together,
        ),
        Way(
            _("Read twice, each conversation alone"),
            _("As above; facts are there a few minutes earlier."),
            "MEMORY_READ_TOGETHER=1",
            week.verified_alone,
            conf.VERIFY and not together,
        ),
        Way(
            _("Read once"),
            _("Facts stay quoted: they are found beside their words, and replace nothing."),
            "MEMORY_VERIFY=no",
            week.extraction,
            not conf.VERIFY,
        ),
    ]


def groups(stretches: Sequence[Stretch]) -> Iterator[list[Stretch]]:
    """Those that would have been read together: quiet within MEMORY_READ_WAIT of the first."""
    group: list[Stretch] = []
    for stretch in stretches:
        is_full = len(group) >= max(conf.READ_TOGETHER, 1) or (
            sum(other.tokens for other in group) + stretch.tokens > conf.READ_TOKENS
        )
        if group and (is_full or stretch.at - group[0].at > conf.READ_WAIT):
            yield group
            group = []
        group.append(stretch)
    if group:
        yield group


def forecast(workspace: Workspace, *, now: datetime) -> Forecast:
    """What a week like the last one would cost."""
    values: dict[str, Any] = {"workspace": workspace.pk, "since": now - WEEK, "now": now, "gap": conf.QUIET_GAP}
    with connection.cursor() as cursor:
        cursor.execute(_STRETCHES, values)
        rows = cursor.fetchall()
    stretches: list[Stretch] = []
    for at, size, messages, turns in rows:
        count = max(ceil(size / conf.TOKEN_CAP), 1)  # parts, as one question holds no more
        stretches += [Stretch(at, size // count, messages // count, max(turns // count, 1))] * count
    sums = Spend.objects.filter(
        workspace=workspace, purpose=extraction.PURPOSE, local_date__gt=(now - timedelta(days=30)).date()
    ).aggregate(calls=Sum("calls"), tokens=Sum("completion_tokens"))
    calls, tokens = sums["calls"] or 0, sums["tokens"] or 0
    return Forecast(workspace, stretches, tokens / calls if calls >= _LEAST_CALLS else None)


def spent_in_week(workspace: Workspace, *, now: datetime) -> Cost:
    """What the models of a workspace really cost in the last week, for whatever they were asked."""
    rows = Spend.objects.filter(workspace=workspace, local_date__gt=(now - WEEK).date())
    sums = rows.aggregate(calls=Sum("calls"), asked=Sum("prompt_tokens"), answered=Sum("completion_tokens"))
    return Cost(sums["calls"] or 0, sums["asked"] or 0, sums["answered"] or 0)


def refused_in_month(workspace: Workspace, *, now: datetime) -> int:
    """Questions that were not asked for the budget, in thirty days."""
    rows = Spend.objects.filter(workspace=workspace, local_date__gt=(now - timedelta(days=30)).date())
    return int(rows.aggregate(count=Sum(F("refused")))["count"] or 0)
