"""The tables, a file for each idea."""

from memories.models.batch import Batch, BatchChange
from memories.models.buffer import BufferedTurn, DailyEvent, ExtractionBatch
from memories.models.change import Change, Recorded, record_changes
from memories.models.embedding import EmbeddingCache, EmbeddingModel
from memories.models.entry import Entry, EntryAccess, Link, Slot
from memories.models.index import EntryIndex, EntryVector, IndexQueueItem, ScopeTerm
from memories.models.policy import Policy
from memories.models.process import Heartbeat, ModelHealth
from memories.models.recall_trace import RecallTrace
from memories.models.reliability import IdempotencyKey, JobRun, KeyUsage, Secret, Suppression
from memories.models.scope import Scope
from memories.models.spend import Spend
from memories.models.tenancy import Bot, BotKey, Member, Workspace
