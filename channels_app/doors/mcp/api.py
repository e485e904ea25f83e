"""The API as one client of MCP calls it: with its key, from its address."""

from dataclasses import dataclass, field
from typing import Any

import httpx

#: Where a client speaks that does not say it: one person at this machine.
HOME = {"platform": "cli"}
_SECONDS = 60.0
_AWAY = "The platform does not answer at this moment; try again shortly."


@dataclass(frozen=True)
class Refused(Exception):
    """A call that was not carried out."""

    status: int
    errors: list[dict[str, Any]]
    retry_after: str = ""

    def __str__(self) -> str:
        """What was wrong, in sentences a model can act on."""
        sentences = " ".join(
            f"{error['attr']}: {error['detail']}" if error.get("attr") else error["detail"] for error in self.errors
        )
        return f"{sentences} (Retry after {self.retry_after} s.)" if self.retry_after else sentences


@dataclass
class Api:
    """Calls of the platform's API. Every one raises Refused where it is not carried out."""

    http: httpx.AsyncClient
    key: str
    address: dict[str, Any]
    listed: dict[str, Any] = field(default_factory=dict)  # what listing() answered

    async def listing(self) -> dict[str, Any]:
        """The tools, and the language of the workspace."""
        if not self.listed:
            self.listed = await self.call("GET", "tools", params={"form": "mcp"})
        return self.listed

    async def here(self, path: str, /, **body: Any) -> Any:
        """A call that starts from this client's address; nothing a model says can name another."""
        return await self.call("POST", path, json={**body, "address": self.address})

    async def call(self, method: str, path: str, **request: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.key}", "Host": "localhost"}
        if language := self.listed.get("language"):
            headers["Accept-Language"] = language
        try:
            answer = await self.http.request(method, f"/api/v1/{path}", headers=headers, timeout=_SECONDS, **request)
        except httpx.HTTPError as problem:
            raise Refused(503, [{"code": "unavailable", "detail": _AWAY, "attr": None}], "5") from problem
        if answer.is_success:
            return answer.json()
        try:
            errors = list(answer.json()["errors"])
        except (ValueError, KeyError, TypeError):  # of something between us and the platform
            errors = [{"code": "error", "detail": f"HTTP {answer.status_code}", "attr": None}]
        raise Refused(answer.status_code, errors, answer.headers.get("Retry-After", ""))
