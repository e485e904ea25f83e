"""What tools answer, as data."""

from collections.abc import Callable
from datetime import UTC
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from channels_app.doors.tools import get, search, write
from channels_app.doors.tools.get import Excerpt, FileList
from channels_app.doors.tools.registry import Form
from channels_app.doors.tools.search import SearchReport
from memories.api.answers import Answer, StaleAnswer
from memories.api.schema import ErrorItem


@extend_schema_serializer(component_name="SearchResult")
class SearchResultAnswer(Answer):
    """Something that was found."""

    path = serializers.CharField(help_text="For memory_get: a file, `entries/…`, `daily_events/…`, `session_events/…`.")
    line = serializers.IntegerField(help_text="Of a file: where it stands. Otherwise 1.")
    score = serializers.FloatField()
    snippet = serializers.CharField()
    cut = serializers.BooleanField(source="is_cut", help_text="There is more of it at its path.")
    source = serializers.ChoiceField(choices=search.ALL_SOURCES)  # type: ignore[assignment]
    kind = serializers.CharField(help_text="Type of a memory; `user`, `assistant` of a message; `summary` of a day.")
    scope = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True, help_text="When it was said or written; null: nobody knows.")
    heading = serializers.CharField(help_text="The headings a line of a file stands under.")
    speaker = serializers.CharField(help_text="Who said it, as people call them; `User` is whoever asks.")
    evidence = serializers.ListField(child=serializers.CharField(), help_text="Messages that say it word for word.")


class SearchAnswer(StaleAnswer):
    """What was found, best first."""

    recall_id = serializers.UUIDField(allow_null=True)
    evidence = serializers.ChoiceField(choices=["found", "weak", "none"])
    results = SearchResultAnswer(many=True)
    note = serializers.CharField(help_text="Whether that is enough, in the language of the workspace.")
    text = serializers.CharField(help_text="All of it as a model is to read it.")
    degraded = serializers.ListField(child=serializers.CharField())


def search_answer(report: SearchReport) -> dict[str, Any]:
    results = [
        SearchResultAnswer.of(result, score=round(result.score, 4), evidence=list(result.evidence))
        for result in report.results
    ]
    return SearchAnswer.of(report, results=results, text=search.shown(report))


class ExcerptAnswer(Answer):
    """Some lines, word for word."""

    path = serializers.CharField(help_text="Without the line it may have named.")
    source = serializers.ChoiceField(choices=search.ALL_SOURCES)  # type: ignore[assignment]
    lines = serializers.IntegerField(help_text="How many lines `text` has.")
    text = serializers.CharField(help_text="Empty where there is nothing.")
    found = serializers.BooleanField(source="is_found")
    truncated = serializers.BooleanField(source="is_truncated", help_text="There is more after these lines.")
    next = serializers.IntegerField(allow_null=True, help_text="The line to go on from.")
    at = serializers.DateTimeField(allow_null=True, help_text="When it was said or written; null: nobody knows.")
    speaker = serializers.CharField(help_text="Who said it, as people call them; `User` is whoever asks.")
    note = serializers.CharField(help_text="Where it cannot be read at the moment: a sentence that says so.")
    degraded = serializers.ListField(child=serializers.CharField())

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`from` is a word of Python's."""
        return {**super().get_fields(), "from": serializers.IntegerField(help_text="The first of these lines.")}


def excerpt_answer(excerpt: Excerpt) -> dict[str, Any]:
    """Some lines as clients see them."""
    at = excerpt.at and excerpt.at.astimezone(UTC)
    answer = ExcerptAnswer.of(excerpt, source=excerpt.kind, lines=len(excerpt.lines), at=at)
    return {**answer, "from": excerpt.first}


class SavedLineAnswer(Answer):
    """A line that was saved."""

    path = serializers.CharField()
    line = serializers.IntegerField()
    entry = serializers.UUIDField(allow_null=True, help_text="The memory it became; null: it will be one soon.")
    scope = serializers.CharField()
    outcome = serializers.ChoiceField(
        choices=write.SAVE_OUTCOMES,
        help_text=(
            "`brought_back`: people had taken these words out before. `pending`: in the file, indexed later. `known`:"
            " a line says so already; nothing was added."
        ),
    )
    degraded = serializers.ListField(child=serializers.CharField())


class UpdatedMemoryAnswer(Answer):
    """A memory with its new words."""

    path = serializers.CharField(help_text="Of its file; `entries/…` where it stands in none.")
    line = serializers.IntegerField(allow_null=True, help_text="Where it stands in its file now.")
    entry = serializers.UUIDField()
    scope = serializers.CharField()
    before = serializers.CharField(help_text="The words it had.")
    content = serializers.CharField()
    outcome = serializers.ChoiceField(choices=write.UPDATE_OUTCOMES)
    batch = serializers.UUIDField(allow_null=True, help_text="For `POST /batches/{id}/undo`; null: nothing changed.")


class ListedFileAnswer(Answer):
    """A file that can be read."""

    path = serializers.CharField(help_text="For memory_get.")
    kind = serializers.ChoiceField(choices=get.KINDS)
    scope = serializers.CharField()
    bytes = serializers.IntegerField()
    at = serializers.DateTimeField(help_text="When it was changed last.")


class FileListAnswer(Answer):
    """Files, those changed last first."""

    files = ListedFileAnswer(many=True)
    total = serializers.IntegerField(help_text="How many there are in all.")
    next = serializers.IntegerField(allow_null=True, help_text="The number to go on `from`.")
    degraded = serializers.ListField(child=serializers.CharField())


def file_list_answer(answer: FileList) -> dict[str, Any]:
    files = [ListedFileAnswer.of(file, at=file.at.astimezone(UTC)) for file in answer.files]
    return FileListAnswer.of(answer, files=files)


class SimilarMemoryAnswer(Answer):
    """Another memory that says most of what was forgotten."""

    path = serializers.CharField()
    content = serializers.CharField()


class ChangedMemoryAnswer(Answer):
    """A memory that was taken out of use or brought back."""

    path = serializers.CharField()
    content = serializers.CharField()
    scope = serializers.CharField()
    outcome = serializers.ChoiceField(choices=write.FORGET_OUTCOMES)
    copies = serializers.IntegerField(help_text="Copies in other scopes that went or came with it.")
    similar = SimilarMemoryAnswer(
        many=True, help_text="Of what was forgotten: what says most of the same and is in use still, three at most."
    )


def changed_memory_answer(answer: write.ChangedMemory) -> dict[str, Any]:
    return ChangedMemoryAnswer.of(answer, similar=[SimilarMemoryAnswer.of(other) for other in answer.similar])


#: By the name of the tool: what became of a call, as data.
ANSWERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "memory_search": search_answer,
    "memory_get": excerpt_answer,
    "memory_save": SavedLineAnswer.of,
    "memory_append": SavedLineAnswer.of,
    "memory_update": UpdatedMemoryAnswer.of,
    "memory_list": file_list_answer,
    "memory_forget": changed_memory_answer,
    "memory_restore": changed_memory_answer,
}


class ToolsAnswer(Answer):
    """The tools, to be passed on to a model as they are."""

    form = serializers.ChoiceField(choices=[form.value for form in Form])
    language = serializers.CharField()
    tools = serializers.ListField(child=serializers.DictField(), help_text="For the `tools` of a request to a model.")
    address = serializers.DictField(
        allow_null=True,
        help_text="For `mcp`: whose memory a key that was allowed over OAuth is for; null: the client says it.",
    )


@extend_schema_serializer(component_name="ToolCallResult")
class ToolCallAnswer(Answer):
    """What became of one call of a model."""

    id = serializers.CharField(help_text="Of the call; empty where it had none.")
    name = serializers.CharField()
    is_error = serializers.BooleanField()
    message = serializers.DictField(help_text="The answer in the form the call came in.")
    result = serializers.DictField(allow_null=True, help_text="What the tool answers, as data; null: it did nothing.")
    errors = ErrorItem(many=True, help_text="What the model got wrong; it is told in `message`.")  # type: ignore[assignment]


class ToolCallsAnswer(Answer):
    """What became of a model's calls."""

    answers = ToolCallAnswer(many=True)
    messages = serializers.ListField(
        child=serializers.DictField(),
        help_text="To be appended to the conversation as they are, after the model's own message.",
    )
