"""Numbers an operator may tune: typed, with their reasons, read when they are used.

A Django setting `MEMORY_<NAME>` overrides the default; tests use override_settings and see the new value at once.
A text, as the environment gives it, is read as the type that is declared here: yes/no, 0.5, 90 days as `90d`.
"""

import re
from datetime import timedelta
from functools import cache
from typing import Any, get_type_hints

from django.conf import settings

from memories.choices import DmScope, Fusion, GroupUserRecall, SecretsRule


class MemorySettings:
    """The tunable numbers of the platform; every name is documented in docs/reference/settings.md."""

    # the database path (A4, D9)
    ENABLED: bool = True  # off: the files answer and store; what is taken in meanwhile is caught up when it is on again

    # replicas (DATABASE_REPLICA_URL)
    REPLICA_SECONDS: float = 5.0  # a replica that is further behind is not read
    JOURNAL_BESIDE_REPLICAS: bool = False  # on: turns are accepted while replicas alone answer, which do not show them

    TRANSCRIPTS: bool = False  # what is said is written to files as well, where a channel does not say otherwise
    TRANSCRIPT_CHARS: int = 3_000  # of each message in a transcript
    NOTES_DAYS: int = 7  # whose notes are in a context that comes from the files
    SHADOW_SAMPLE: float = 1.0  # share of recalls under dual_write that are asked of the files as well

    # capture (A1, A2)
    CAPTURE_GROUP_MEMORY: bool = True  # a group's turn is also kept in the chat's own scope
    TURN_USER_CHARS: int = 250  # longer texts keep their head and their tail
    TURN_ASSISTANT_CHARS: int = 400
    TURN_MAX_BYTES: int = 65_536  # of each text of a turn, before it is cut
    CONTENT_MAX_CHARS: int = 8_000
    SLOT_LIMIT: int = 30
    SLOT_NAME_CHARS: int = 64
    SLOT_VALUE_CHARS: int = 500

    # merging (A10)
    DEDUPE_THRESHOLD: float = 0.80  # Jaccard over words; from here on two texts are one memory
    DEDUPE_TURN_THRESHOLD: float = 0.70  # of chat turns, within DEDUPE_TURN_WINDOW
    DEDUPE_TURN_WINDOW: timedelta = timedelta(hours=1)
    DEDUPE_CANDIDATES: int = 50  # entries compared with a draft, those sharing its rarest terms

    # extraction (D5)
    AUTO_EXTRACT: bool = True  # off: turns no longer enter the buffer; what is in it is still extracted
    FACTS_IN_OWN_WORDS: bool = True  # without a model: what people surely say about themselves becomes a fact
    QUIET_GAP: timedelta = timedelta(minutes=3)  # a conversation that was quiet for so long is extracted
    TOKEN_CAP: int = 6_000  # of the turns extracted together; more would bury what matters
    SUMMARY_CHARS: int = 200  # of what is told of one day
    EXTRACTION_LEASE: timedelta = timedelta(minutes=5)  # a worker that needs longer may lose its work to another
    EXTRACTION_ATTEMPTS: int = 3  # then turns are parked for the operator
    EXTRACTION_REST: timedelta = timedelta(minutes=1)  # before the second attempt, twice that before the third
    EXTRACT_TIME: timedelta = timedelta(seconds=50)  # one run of the job goes on for so long
    MODEL_ATTEMPTS: int = 30  # with a model that gives no answer, in about a day; then turns are parked
    KNOWN_FACTS: int = 20  # shown to the model beside a conversation, so that it can say which no longer hold
    VERIFY: bool = True  # a model reads each of its facts again, beside the words it quotes; off: facts stay quoted
    VERIFY_MODEL: str = ""  # that reads, at the same endpoint; empty: the model that wrote them
    READ_TOGETHER: int = 8  # conversations of a workspace that are read a second time in one question; 1: each alone
    READ_WAIT: timedelta = timedelta(minutes=5)  # that a quiet conversation waits for others that are about to be quiet
    READ_TOKENS: int = 24_000  # of the turns that are read a second time together
    TRUST_LEAST: float = 0.8  # of what a model made people let stand; below, what it finds is only quoted
    REFUSED_TTL: timedelta = timedelta(days=30)  # facts that were not kept can be looked at for so long

    # compression and capacity (D1, D6, C10)
    COMPRESS_TIME: timedelta = timedelta(minutes=5)  # one task goes on for so long; another takes up what is left
    COMPRESS_LEAST: int = 10  # facts of one project and topic, below which they are left alone
    PROFILE_LINES: int = 100  # of one scope
    FACTS_AIM: int = 2_000  # of one scope; shown when there are more
    FACTS_MOST: int = 5_000  # beyond, the least relevant that pass are archived
    FADED: float = 0.01  # relevance below which temporary facts are archived
    AUTO_MEMORY_SAVE_AT_4: bool = True  # the day before is condensed into a note
    ARCHIVE_TO_FILES: bool = True  # which also stands in the file of its day, as a marked block

    # scopes and groups (E1, A3)
    DM_SCOPE: str = DmScope.PER_CHANNEL_PEER
    GROUP_USER_RECALL: str = GroupUserRecall.SAME_CHAT
    SECRETS: str = SecretsRule.KEEP  # said in a conversation or saved, where the channel has no rule of its own

    # messages of chat platforms (channels_app.platforms)
    CHANNEL_MESSAGE_TTL: timedelta = timedelta(days=30)  # what came and was sent can be looked at for so long
    CHANNEL_CALLBACK_SECONDS: float = 60.0  # the owner's bot has so long to answer a message
    CHANNEL_ANSWER_WITHIN: timedelta = timedelta(minutes=5)  # a bot that asks for messages; then it is offered again
    CHANNEL_ATTEMPTS: int = 3  # to have a message answered
    CHANNEL_GIVE_UP_AFTER: timedelta = timedelta(days=1)  # a message the platform does not take
    CHANNEL_THREADS: int = 4  # chats that are answered at once, of a process
    CHANNEL_PAGE_RATE: int = 20  # messages a minute of one person on a chat page
    CHANNEL_PAGE_RATE_ALL: int = 200  # and of all people on one chat page together

    # sessions (B3–B7, C6)
    SESSION_MAX_TOKENS: int = 32_000  # of the history handed out, where neither channel nor request says otherwise
    SESSION_FLUSH_SHARE: float = 0.6  # of it: from here on the bot is asked to flush
    SESSION_COMPACT_SHARE: float = 0.7  # from here on older turns are replaced by a summary
    SESSION_KEEP_SHARE: float = 0.3  # of it stays raw after that: the newest turns
    HISTORY_SUMMARY_MAX_TOKENS: int = 600
    SESSION_SHOWN_TOKENS: int = 24_000  # of a conversation, in one question to the model; else it is shown in parts
    SESSION_STALE_AFTER: timedelta = timedelta(hours=48)  # idle for longer, a conversation is closed; 0 = never
    SESSION_WAIT: timedelta = timedelta(seconds=10)  # for those who write before, at most
    SESSION_WAITERS: int = 2  # threads of one process that may wait; half of a web process stays free
    RESET_COMMAND: bool = True  # whether the message /reset closes a conversation
    AMBIENT_KEPT: int = 50  # of the talk of a chat that is not meant for the bot
    CHAT_CONTEXT: int = 25  # of it in the context of a group
    SESSION_EVENT_TTL: timedelta = timedelta(days=30)
    SESSION_EVENT_EMBEDDING: bool = True  # off: what was said is found by its words alone
    SESSION_EVENT_EMBED_INTERVAL: timedelta = timedelta(seconds=5)  # without a backlog; with one at once
    SESSION_EVENT_EMBED_BATCH: int = 16
    SESSION_EVENT_EMBED_CHARS: int = 300  # of a message; of a Chinese one they take half a second

    UNREAD_TURN_TTL: timedelta = timedelta(days=365)  # of a turn no model has drawn facts from; then its own term

    # recall (A7, A8)
    MAX_RECALLS: int = 8
    FUSION: str = Fusion.RELATIVE
    ALPHA: float = 0.45  # weight of the vector retriever; measured in docs/reference/retrieval-quality.md
    AVERAGE_SHARE: float = 0.45  # of the scope's average direction, taken out of the question
    FULL_TERMS: int = 15  # a text that holds so many of the question's rarest words matches it fully
    MIN_SIMILARITY: float = 0.3  # of a candidate only the vector retriever found; 0 = unrelated, 1 = a clear answer
    RELEVANCE_LIKELY: float = 0.25  # served into a prompt from here on; the share of such memories that answer
    RELEVANCE_WIDE: float = 0.02  # served to a program that chooses itself
    RELEVANCE_WEAK: float = 0.1  # of the best, below which a small memory is said to hold nothing
    RELEVANCE_FOUND: float = 0.76  # of the best, from which on a small memory is said to hold the answer
    RRF_K: int = 60
    RECALL_MESSAGE_CHARS: int = 4_000  # of a longer message its beginning and its end are searched
    RECALL_CANDIDATES: int = 50  # ranked in the database, then weighed by decay and quotas
    FEATURES_OFF: str = ""  # features (memories.recall.ranking) that do not count, by commas
    SPEAKER_BOOST: float = 0.07  # added when the question names who said it
    DATE_BOOST: float = 0.20  # added when the question names the days it was said on, thrice if it is about them
    DATE_TAIL: timedelta = timedelta(days=3)  # people speak of a day for some days: the boost falls to 1/e in this time
    RECENCY: float = 0.02  # what was just said scores so much more (C15); more costs recall, as measured
    RECENCY_FADES: timedelta = timedelta(days=7)  # what is left of that falls to 1/e in this time
    EVIDENCE_WEAK: float = 0.45  # strength of the evidence below which there is none (C3)
    EVIDENCE_FOUND: float = 0.60  # and from which it is called found
    RERANK_SECONDS: float = 0.5  # the whole answer of the owner's reranker; then the ranking's own order holds
    RERANK_CANDIDATES: int = 50  # the best so many are shown to it
    RERANK_TEXT_TOKENS: int = 256  # of each; most rerankers read 512, the question included
    CONTEXT_TOKENS: int = 1_000
    CONTEXT_BUDGET: int = 4_000  # tokens of everything POST /context hands out, where a request names none
    CONTEXT_PROFILE_SHARE: float = 0.25  # of it at most for the profile; what a part leaves goes to the history
    CONTEXT_MEMORIES_SHARE: float = 0.30  # for memories, and what was said word for word
    CONTEXT_CHAT_SHARE: float = 0.10  # for the recent talk of a group
    PROFILE_MAX: int = 100  # core facts of a scope
    NOTES_DAY_CHARS: int = 2_000  # of each of the two days whose notes a conversation begins with
    NOTES_CHARS: int = 4_000  # of both
    SYNC_ON_SEARCH: bool = True  # files that have changed are indexed before a search
    SYNC_MIN_INTERVAL: timedelta = timedelta(seconds=20)  # that the files of a scope are not looked at again
    INCLUDE_SESSION_EVENTS: bool = True  # questions about the past also find what was said, word for word
    SESSION_EVENTS_MAX_RESULTS: int = 6
    SESSION_EVENT_CHARS: int = 1_000  # of a message that is found; its path tells where all of it is
    SEARCH_MAX_RESULTS: int = 8  # of memory_search, where a call names none (C5)
    SEARCH_MIN_SCORE: float = 0.1  # what scores less is not shown
    SEARCH_SNIPPET_CHARS: int = 700  # of each result; its path tells where all of it is
    ANSWER_CACHE: bool = True  # a question asked again under the same walls, nothing having changed, is not searched
    ANSWER_CACHE_TTL: timedelta = timedelta(seconds=30)
    ANSWER_CACHE_SIZE: int = 256  # answers a process keeps

    # memory in markdown (C1, C2)
    FILE_MAX_BYTES: int = 10_000_000  # a larger file is not indexed or searched; its lines can still be read
    FILE_LOCK_SECONDS: float = 10.0  # waited for those who write to the same file

    # the index (E5)
    BM25_K1: float = 1.2
    BM25_B: float = 0.5
    INDEX_TERMS: int = 128  # heaviest terms of a row that are kept; own terms first
    BLEND_REACH: int = 2  # neighbours on each side that lend a row their context
    BLEND_KEYWORDS: bool = True  # whether they lend it their words
    BLEND_VECTOR: float = 0.5  # weight of the neighbours' mean embedding beside the row's own
    LARGE_SCOPE_ENTRIES: int = 100_000  # from which on a scope has an index of its own; 0: no scope has one

    # embedding (A12, A13)
    EMBED_RECALL_SECONDS: float = 0.150  # all providers together; then keywords answer alone
    EMBED_RECALL_MOST_SECONDS: float = 0.6  # as long as that where this machine usually takes longer
    EMBED_PENDING_SECONDS: float = 0.3  # that a question waits for the vectors of what was said seconds ago; 0: never
    EMBED_WRITE_SECONDS: float = 3.0
    EMBED_BATCH: int = 16
    EMBED_QUERY_TOKENS: int = 128  # of a long message the last tokens are embedded
    BREAKER_FAILURES: int = 3  # in a row; then the provider rests
    BREAKER_REST: timedelta = timedelta(seconds=30)

    # the machine's own model (D7)
    LLM_MAX_TOKENS: int = 4_096  # longest answer; reserved in the budget before each call
    LLM_TEMPERATURE: float = 0.3
    LLM_SECONDS: float = 60.0  # one call
    LLM_TOTAL_SECONDS: float = 180.0  # one question: waiting, retries and corrections included
    LLM_RETRIES: int = 2  # after failures that may pass
    LLM_CORRECTIONS: int = 2  # after answers that cannot be used
    LLM_CALLS: int = 2  # at the same time, all processes together
    LLM_DAILY_TOKENS: int = 1_000_000  # of one workspace on one of its days; 0 = nothing is asked
    LLM_MONTHLY_TOKENS: int = 0  # of one workspace in one of its months; 0 = no limit but that of the day
    LLM_PRICE_IN: float = 0.0  # of a million tokens of questions, in whatever money; for forecasts and sums
    LLM_PRICE_OUT: float = 0.0  # of a million tokens of answers

    # long turns in few words (A11)
    USE_LLM_SUMMARY: bool = False  # the model's summary takes the place of a turn that was cut
    LLM_SUMMARY_FROM: int = 200  # characters of a turn; shorter ones stay as they are
    LLM_SUMMARY_MODEL: str = ""  # empty: the one of MEMORY_LLM_MODEL

    # the safety limit: what a machine judged waits for a person (F4)
    SAFETY_LIMIT_SHARE: float = 0.20  # when it would retire more than this share of a scope
    SAFETY_LIMIT_ROWS: int = 10  # and more than so many memories
    SAFETY_LIMIT_WINDOW: timedelta = timedelta(days=30)  # what models retired in so long is summed up
    SAFETY_LIMIT_WINDOW_SHARE: float = 0.30  # a batch waits that would make it more than this share

    # jobs (each has a switch, MEMORY_JOB_<NAME>: memories.jobs.Job), and how long records are kept
    PURGE_AFTER: timedelta = timedelta(days=90)  # since it expired
    TRACE_TTL: timedelta = timedelta(days=30)
    AUDIT_TTL: timedelta = timedelta(days=365)  # of the audit log; never less than thirty days
    ARCHIVE_TRACES_AFTER: timedelta = timedelta(days=20)  # where there is an archive; after TRACE_TTL they are gone
    ARCHIVE_HISTORY_AFTER: timedelta = timedelta(days=180)  # what was changed before can then not be undone
    JOB_RUN_TTL: timedelta = timedelta(days=90)  # of what jobs did, as the admin lists it
    IDEMPOTENCY_TTL: timedelta = timedelta(hours=24)
    KEY_USAGE_TTL: timedelta = timedelta(hours=24)
    EMBEDDING_CACHE_TTL: timedelta = timedelta(days=30)  # since it was last of use

    # the wire
    MEM0_API: bool = True  # whether the calls of mem0's client are answered
    CALLS_PER_MINUTE: int = 1_200  # of one key, counted for all web processes together
    REFERENCE_SHARE: float = 0.2  # an answer used a memory that explains so much of its new words (A14)

    # the proxy of models (channels_app.doors.openai)
    PROXY_CHATS: int = 20  # of one web process at a time; each has a thread besides those of the API
    PROXY_SECONDS: float = 600.0  # one answer of the upstream, to its last byte
    PROXY_MAX_BYTES: int = 20_000_000  # of a request, and of an answer
    PROXY_SHARED: bool = False  # passes on what the upstream keeps for all (files, batches) beside several workspaces

    # webhooks
    WEBHOOK_PRIVATE_ADDRESSES: bool = False  # whether they may lead into private networks, and be without TLS
    WEBHOOK_LIMIT: int = 20  # of a workspace that are on: each costs every write a row
    WEBHOOK_SECONDS: float = 10.0  # one delivery, from the name of its receiver to the answer
    WEBHOOK_GIVE_UP_AFTER: timedelta = timedelta(days=1)  # of a receiver that fails
    WEBHOOK_DELIVERY_TTL: timedelta = timedelta(days=30)  # deliveries are listed for so long

    # records
    TRACE_SAMPLE: float = 1.0  # share of recalls whose candidates are kept beside the head
    TRACE_EXCLUDED: int = 2_000  # newest entries of a scope in which traces look for what is no longer served
    LOG_CONTENT: bool = False  # whether log lines may hold words of users

    def __getattribute__(self, name: str) -> Any:
        default = super().__getattribute__(name)
        value = getattr(settings, f"MEMORY_{name}", default)
        return default if value is default else typed(f"MEMORY_{name}", value, kinds()[name])


class SettingMistyped(ValueError):
    """A setting holds something that is not of its type."""


def typed(setting: str, value: Any, kind: type) -> Any:
    """The value as the type a setting is declared with. Raises SettingMistyped."""
    if isinstance(value, str) and kind is not str:
        text = value.strip()
        try:
            value = _WORDS[text.lower()] if kind is bool else duration(text) if kind is timedelta else kind(text)
        except (ValueError, KeyError):
            raise SettingMistyped(f"{setting} is to be {_EXAMPLES[kind]}, not {text!r}.") from None
    if kind is float and type(value) is int:
        return float(value)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise SettingMistyped(f"{setting} is to be {_EXAMPLES[kind]}, not {value!r}.")
    return value


def switch(setting: str, *, default: bool) -> bool:
    """A yes or no that is declared elsewhere, by the whole name of its setting. Raises SettingMistyped."""
    return bool(typed(setting, getattr(settings, setting, default), bool))


@cache
def kinds() -> dict[str, type]:
    """The declared type of every setting."""
    return {name: kind for name, kind in get_type_hints(MemorySettings).items() if name.isupper()}


_EXAMPLES: dict[type, str] = {
    bool: "yes or no",
    int: "a whole number",
    float: "a number",
    str: "a text",
    timedelta: "a time such as 90d, 48h, 3m or 20s",
}
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_WORDS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


def duration(text: str) -> timedelta:
    """`90d`, `1h30m`, `20s`; a bare number is seconds."""
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return timedelta(seconds=float(text))
    parts = re.findall(r"(\d++)([dhms])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(text)
    return timedelta(**{_UNITS[unit]: int(number) for number, unit in parts})


conf = MemorySettings()
