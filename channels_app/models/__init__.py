"""The tables of channels, of people, and of what comes from platforms."""

from channels_app.models.channels import (
    Channel,
    Consent,
    ConsentSubject,
    Identity,
    PathComparison,
    Person,
    ReplayedRecord,
    ReplayOutcome,
)
from channels_app.models.connections import (
    AT_PLATFORM,
    Answerer,
    Chat,
    Connection,
    ConnectionProblem,
    Contact,
    IncomingMessage,
    MessageKind,
    MessageState,
    Notice,
    NoticeMode,
    OutgoingMessage,
    Receiving,
)
