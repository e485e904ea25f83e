"""What answers about several nouns have in common."""

from typing import Any

from rest_framework import serializers


class Page(serializers.Serializer[Any]):
    """One page of a list; without `next` it is the last one."""

    next = serializers.URLField(allow_null=True)
    cursor = serializers.CharField(allow_null=True)


class ColumnChange(serializers.Serializer[Any]):
    """One column before and after; of the content also word by word."""

    column = serializers.CharField()
    old = serializers.JSONField(allow_null=True)
    new = serializers.JSONField(allow_null=True)
    diff = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2),
        required=False,
        help_text="Runs of words: = stayed, - went, + came.",
    )


class SlotChange(serializers.Serializer[Any]):
    """One slot before and after; null where there was or is none."""

    name = serializers.CharField()
    old = serializers.CharField(allow_null=True)
    new = serializers.CharField(allow_null=True)
