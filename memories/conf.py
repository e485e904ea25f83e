"""Numbers an operator may tune: typed, with their reasons, read when they are used.

A Django setting `MEMORY_<NAME>` overrides the default; tests use override_settings and see the new value at once.
"""

from datetime import timedelta
from typing import Any

from django.conf import settings

from memories.choices import DmScope, Fusion, GroupUserRecall


class MemorySettings:
    """The tunable numbers of the platform; every name is documented in docs/reference/settings.md."""

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

    # scopes and groups (E1, A3)
    DM_SCOPE: str = DmScope.PER_CHANNEL_PEER
    GROUP_USER_RECALL: str = GroupUserRecall.SAME_CHAT

    # recall (A7, A8)
    MAX_RECALLS: int = 8
    FUSION: str = Fusion.RELATIVE
    ALPHA: float = 0.57  # weight of the vector leg; measured in docs/reference/retrieval-quality.md
    MIN_SIMILARITY: float = 0.3  # of a candidate only the vector leg found; 0 = unrelated, 1 = same text
    RRF_K: int = 60
    RECALL_CANDIDATES: int = 50  # ranked in the database, then weighed by decay and quotas
    SPEAKER_BOOST: float = 0.055  # added when the question names who said it
    CONTEXT_TOKENS: int = 1_000

    # the index (E5)
    BM25_K1: float = 1.2
    BM25_B: float = 0.5
    INDEX_TERMS: int = 128  # heaviest terms of a row that are kept; own terms first
    BLEND_REACH: int = 2  # neighbours on each side that lend a row their context
    BLEND_VECTOR: float = 0.5  # weight of the neighbours' mean embedding beside the row's own

    # embedding (A12, A13)
    EMBED_RECALL_SECONDS: float = 0.150  # all providers together; then keywords answer alone
    EMBED_WRITE_SECONDS: float = 3.0
    EMBED_BATCH: int = 16
    EMBED_QUERY_TOKENS: int = 128  # of a long message the last tokens are embedded
    BREAKER_FAILURES: int = 3  # in a row; then the provider rests
    BREAKER_REST: timedelta = timedelta(seconds=30)

    # records
    RECEIPT_SAMPLE: float = 1.0  # share of recalls whose candidates are kept beside the head
    LOG_CONTENT: bool = False  # whether log lines may hold words of users

    def __getattribute__(self, name: str) -> Any:
        return getattr(settings, f"MEMORY_{name}", super().__getattribute__(name))


conf = MemorySettings()
