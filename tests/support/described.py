"""The description of the API, as `/api/schema` serves it, made once for all tests that read it."""

from copy import deepcopy
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator


@cache
def _generated() -> dict[str, Any]:
    generator: Any = SchemaGenerator  # which is not typed
    return dict(generator().get_schema(request=None, public=True))


def api_description() -> dict[str, Any]:
    """A copy, which a test may change."""
    return deepcopy(_generated())
