"""One write, mirrored: what is done here for what was done there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memplatform_client.errors import NotFound

from memplatform_shadow.door import Door
from memplatform_shadow.events import IDS
from memplatform_shadow.state import State, Work

#: What came of a write. KNOWN: it stood here already. KEPT: other memories there rest on it. GONE: out of use before.
MIRRORED, KNOWN, NOT_KEPT, KEPT, GONE = "mirrored", "known", "not_kept", "kept", "gone"
NOTHING, NOT_KNOWN, FAILED = "nothing", "not_known", "failed"


@dataclass
class Done:
    """What came of work: what the log says of it, and what the state has to keep of it, together."""

    line: dict[str, Any]
    keep: list[Callable[[], None]] = field(default_factory=list)


class Writes:
    """Carries out writes, one after the other. Nothing is kept of one that raised: it may be tried again."""

    def __init__(self, door: Door, state: State) -> None:
        self._door, self._state = door, state

    def carry_out(self, work: Work) -> Done:
        """Raises MemplatformError."""
        does = {"add": self._add, "change": self._change, "delete": self._delete, "delete_all": self._delete_all}
        return does[work.body["op"]](work) if work.body["op"] in does else Done({"outcome": NOTHING})

    def failed(self, work: Work, why: str) -> Done:
        """A write that will not be tried again: what was added does not stand here."""
        body = work.body
        lost = body["there"] if body["op"] == "add" else []
        keep = [lambda one=one: self._state.see(one, body["whose"], body.get("text", ""), why) for one in lost]
        return Done({"outcome": FAILED, "why": why}, list(keep))

    def _add(self, work: Work) -> Done:
        body, there = work.body, list(work.body["there"])
        results = self._door.add(body["body"], work.key)
        here = [str(one["id"]) for one in results]
        if not here:
            lost = [lambda one=one: self._state.see(one, body["whose"], "", NOT_KEPT) for one in there]
            return Done({"outcome": NOT_KEPT, "here": []}, list(lost))
        as_is = body["body"]["infer"] is False and len(here) == len(there)
        sets = [[one] for one in here] if as_is else [here] * len(there)
        keep = [self._knowing(one, ids, body["whose"], as_is=as_is) for one, ids in zip(there, sets, strict=True)]
        is_new = any(one["event"] == "ADD" for one in results)
        return Done({"outcome": MIRRORED if is_new else KNOWN, "here": here}, keep)

    def _knowing(self, there: str, here: list[str], whose: Mapping[str, str], *, as_is: bool) -> Callable[[], None]:
        return lambda: self._state.know(there, here, as_is=as_is, whose=whose)

    def _change(self, work: Work) -> Done:
        """In place where it stands here as it is and for nothing else; else what it says now is a memory of its own."""
        (there,), changes = work.body["there"], work.body["changes"]
        here, whose = self._standing(work)
        if len(here) == 1 and all(as_is and self._is_alone(one, there) for one, (as_is, _whose) in here.items()):
            (uid,) = here
            try:
                self._door.change(uid, changes, work.key)
            except NotFound:
                pass  # out of use meanwhile
            else:
                return Done({"outcome": MIRRORED, "here": [uid]}, [self._knowing(there, [uid], whose, as_is=True)])
        if not whose or not changes.get("text"):
            return Done({"outcome": NOT_KNOWN})
        spoken = {"messages": [{"role": "user", "content": changes["text"]}], "infer": False}
        more = {name: changes[name] for name in ("metadata", "expiration_date") if changes.get(name)}
        results = self._door.add({**whose, **spoken, **more, "timestamp": round(work.at, 3)}, f"{work.key}:add")
        ids = [str(one["id"]) for one in results]
        keep = [lambda: self._state.forget(there), self._knowing(there, ids, whose, as_is=True)]
        return Done({"outcome": MIRRORED if ids else NOT_KEPT, "here": ids, "instead": True}, keep)

    def _delete(self, work: Work) -> Done:
        """Out of use here, unless another memory there rests on the same one here."""
        (there,) = work.body["there"]
        here, _whose = self._standing(work)
        if not here:
            return Done({"outcome": NOT_KNOWN})
        taken = [uid for uid in here if self._is_alone(uid, there)]
        outcome = MIRRORED if taken else KEPT
        for uid in taken:
            try:
                self._door.delete(uid, f"{work.key}:{uid}")
            except NotFound:
                outcome = GONE
        return Done({"outcome": outcome, "here": taken}, [lambda: self._state.forget(there)])

    def _delete_all(self, work: Work) -> Done:
        """What was mirrored of it; everything: of everybody the shadow has written for."""
        filters, everything = work.body["filters"], work.body["everything"]
        for number, one in enumerate(self._state.everybody() if everything else [filters]):
            self._door.delete_all(one, f"{work.key}:{number}")
        is_plain = everything or (filters and filters.keys() <= set(IDS))
        return Done({"outcome": MIRRORED}, [lambda: self._state.forget_all(filters)] if is_plain else [])

    def _standing(self, work: Work) -> tuple[dict[str, tuple[bool, dict[str, str]]], dict[str, str]]:
        """What stands here for a memory there, and whose it is.

        One from before the shadow began is looked for by its words, where an answer has told them.
        """
        (there,) = work.body["there"]
        here = self._state.here(there)
        if here:
            return here, next(iter(here.values()))[1]
        whose, text, _lost = self._state.seen(there) or (work.body.get("whose", {}), "", "")
        found = self._door.find(whose, [text]) if whose and text else {}
        return dict.fromkeys(found.values(), (True, whose)), whose

    def _is_alone(self, here: str, there: str) -> bool:
        return set(self._state.there(here)) <= {there}
