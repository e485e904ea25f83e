"""What was recalled, and why, as clients see it."""

from rest_framework import serializers

from memories.api.answers import Answer, evidence_field, verification_field
from memories.choices import EntryType


class Boosts(Answer):
    """What was added because the question names who said it, or when."""

    speaker = serializers.FloatField()
    date = serializers.FloatField()


class Rerank(Answer):
    """What the owner's reranker made of a memory."""

    rank_before = serializers.IntegerField(help_text="Among those it was asked about, by `score`.")
    rank_after = serializers.IntegerField(help_text="Among the same, by the reranker.")
    score = serializers.FloatField(help_text="On the reranker's own scale.")


class Why(Answer):
    """How a memory was ranked; what is not known is null."""

    keyword = serializers.FloatField(allow_null=True)
    keyword_rank = serializers.IntegerField(allow_null=True, help_text="Among what was looked at.")
    vector = serializers.FloatField(allow_null=True)
    vector_rank = serializers.IntegerField(allow_null=True, help_text="Among what was looked at.")
    similarity, date = serializers.FloatField(allow_null=True), serializers.FloatField(allow_null=True)
    speaker_named = serializers.BooleanField()
    boosts = Boosts()
    fused = serializers.FloatField(allow_null=True)
    decay = serializers.FloatField(allow_null=True)
    recency = serializers.FloatField(allow_null=True)
    whose = serializers.FloatField(allow_null=True, help_text="0.25: another's, where one asks about oneself.")
    features = serializers.DictField(
        child=serializers.FloatField(), help_text="What each feature added, where the question names a speaker."
    )
    rerank = Rerank(allow_null=True)
    in_context = serializers.BooleanField(allow_null=True, help_text="Whether the token budget had room for it.")


class RecalledMemory(Answer):
    """A memory that bears on the message."""

    id = serializers.UUIDField(allow_null=True, help_text="null: a line of a file, which its slots name.")
    type = serializers.ChoiceField(choices=EntryType.choices)
    scope = serializers.CharField()
    content = serializers.CharField()
    sender = serializers.CharField(allow_null=True, help_text="The id of who said it; null: nobody knows.")
    sender_name = serializers.CharField(allow_null=True, help_text="What people call the sender.")
    slots = serializers.DictField(child=serializers.CharField())
    verification = verification_field()
    evidence = evidence_field()
    created_at = serializers.DateTimeField(allow_null=True, help_text="null: a line of a file that says no time.")
    score = serializers.FloatField()
    superseded_by_newer = serializers.UUIDField(allow_null=True, help_text="The newer memory that corrects this one.")
    why = Why()


class ExplainedMemory(Answer):
    """A memory of a recall; what is gone or withheld is null."""

    id = serializers.UUIDField(allow_null=True)
    type = serializers.ChoiceField(choices=EntryType.choices, allow_null=True)
    scope = serializers.CharField(allow_null=True)
    content = serializers.CharField(allow_null=True)
    sender, sender_name = serializers.CharField(allow_null=True), serializers.CharField(allow_null=True)
    slots = serializers.DictField(child=serializers.CharField(), allow_null=True)
    created_at = serializers.DateTimeField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    superseded_by_newer = serializers.UUIDField(allow_null=True, help_text="The newer memory that corrects this one.")
    why = Why(allow_null=True)


class LeftOutMemory(ExplainedMemory):
    """A candidate that was not served, and why."""

    reason = serializers.CharField()


class ThenAndNow(Answer):
    """Where an entry can be read as it is now, and as it was."""

    now = serializers.CharField()
    then = serializers.CharField(help_text="Its history; the step with the same version made it so.")


class RecordedMemory(ExplainedMemory):
    """A memory of a past recall, in the words it had then."""

    version = serializers.IntegerField(allow_null=True, help_text="Of the entry at the time.")
    reworded_since = serializers.BooleanField(allow_null=True)
    withheld = serializers.ChoiceField(
        choices=["gone", "taken_out"], allow_null=True, help_text="Why there is no content."
    )
    links = ThenAndNow(allow_null=True)


class RecordedLeftOut(RecordedMemory):
    """A candidate that was not served, in the words it had then, and why."""

    reason = serializers.CharField()


class EventOfTrace(Answer):
    """A session event a past recall found; its words are in its session."""

    path = serializers.CharField()
    score = serializers.FloatField()
    memory = serializers.UUIDField(allow_null=True, help_text="A served memory that rests on it.")
    words = serializers.FloatField(allow_null=True, help_text="Share of the question's telling words it holds.")
    similarity = serializers.FloatField(allow_null=True, help_text="To the question; null: it was not compared.")
    version = serializers.IntegerField(allow_null=True, help_text="Of the event of a day, at the time.")


class RecallTraceAnswer(Answer):
    """A past recall: its message, what was served and left out, and why."""

    recall_id = serializers.UUIDField(source="uid")
    message = serializers.CharField()
    at = serializers.DateTimeField(source="created_at")
    bot = serializers.CharField(allow_null=True)
    scopes = serializers.ListField(child=serializers.CharField())
    session_key = serializers.CharField()
    mode = serializers.CharField()
    asked = serializers.DictField(help_text="What was asked for besides the message.")
    rule = serializers.CharField(help_text="By which rule it needed memory, or did not.")
    evidence = serializers.DictField(help_text="The verdict and the signs it was drawn from.")
    memories = RecordedMemory(many=True)
    left_out = RecordedLeftOut(many=True)
    events = EventOfTrace(many=True)
    sampled = serializers.BooleanField(help_text="Whether the candidates were kept.")
    weights = serializers.DictField(child=serializers.FloatField())
    cached_from = serializers.UUIDField(allow_null=True, help_text="The recall whose answer was given again.")
    timings = serializers.DictField(child=serializers.FloatField(), help_text="Milliseconds by step.")
    tokens = serializers.IntegerField()
    degraded = serializers.ListField(child=serializers.CharField())
    used = serializers.ListField(child=serializers.UUIDField(), allow_null=True)
    pointed_to = serializers.ListField(
        child=serializers.UUIDField(), allow_null=True, help_text="By the words of the answer."
    )
    note = serializers.CharField()


class FeedbackAnswer(Answer):
    """The feedback on a recall."""

    recall_id = serializers.UUIDField(source="uid")
    used = serializers.ListField(child=serializers.UUIDField())
    note = serializers.CharField()
