"""Secrets in messages of a time when they were stored as they were said: where they stand is noted in the message.

Named in MEMORY_SECRET_FINDERS. The words of a message stay stored; pages, histories and models get them without these
places (SessionEvent.handed_out).
"""

from django.db.models import Q

from memories.choices import SecretsRule
from memories.language.confidential import find_secrets, secret_spans
from memories.models import Scope
from sessions_app.models import HIDDEN_SPANS, Session, SessionEvent


def mark_messages(scope: Scope) -> None:
    """Note the secrets in the conversations of a scope; where a channel stores them as they are said, none."""
    sessions = Session.objects.filter(Q(user_scope=scope) | Q(chat_scope=scope), workspace_id=scope.workspace_id)
    for session in sessions.order_by("pk"):
        if session.channel_rules().secrets != SecretsRule.OFF:
            for conversation in range(1, session.conversation + 1):
                # Of one conversation: a bot often repeats what its user told it
                messages = list(session.messages(conversation).only("pk", "content", "data"))
                values = {secret.value for message in messages for secret in find_secrets(message.content)}
                changed = []
                for message in messages if values else ():
                    spans = [list(span) for span in secret_spans(message.content, values)]
                    if spans and message.data.get(HIDDEN_SPANS) != spans:
                        message.data = {**message.data, HIDDEN_SPANS: spans}
                        changed.append(message)
                SessionEvent.objects.bulk_update(changed, ["data"], batch_size=500)
