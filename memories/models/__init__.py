"""The tables, by subject."""

from memories.models.batch import Batch, BatchChange
from memories.models.buffer import BufferedTurn, DailyEvent, ExtractionBatch
from memories.models.change import Change, Recorded, record_changes
from memories.models.entry import Entry, EntryAccess
from memories.models.erasure import Erasure, ErasureState, ErasureTarget, Tombstone
from memories.models.evidence import Evidence, RefusedFact
from memories.models.index import (
    EmbeddingCache,
    EmbeddingModel,
    EntryIndex,
    EntryVector,
    FileProblem,
    FileState,
    IndexQueueItem,
    ScopeTerm,
    StagedVector,
)
from memories.models.oauth import OAuthClient, OAuthGrant
from memories.models.operations import ArchivedRows, JobRun, KeyUsage, ModelHealth, Spend, WritePosition
from memories.models.pinned_test import PinnedState, PinnedTest
from memories.models.policy import Policy
from memories.models.recall_trace import RecallTrace
from memories.models.relations import Link, Slot
from memories.models.suppression import Suppression
from memories.models.tenancy import Bot, BotKey, IdempotencyKey, Scope, Secret, Workspace
from memories.models.webhook import Webhook, WebhookDelivery
