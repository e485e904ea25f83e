"""What the tests of this folder share."""

import json
from typing import Any

from tests.conftest import Api


def send(api: Api, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """Any method with a JSON body."""
    return api.request(method, path, "" if body is None else json.dumps(body), **headers)
