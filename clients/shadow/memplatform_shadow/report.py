"""What a log comes to: figures for a period, question by question, and what cannot be compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from memplatform_shadow.reads import UNKNOWN

Line = dict[str, Any]
_STOOD = ("mirrored", "known")


@dataclass
class Question:
    """One question, however often it was asked; a memory is named by its text."""

    query: str | None
    whose: str
    times: int = 0
    both: Counter[str] = field(default_factory=Counter)
    only_there: Counter[str] = field(default_factory=Counter)
    only_here: Counter[str] = field(default_factory=Counter)

    @property
    def differences(self) -> int:
        return self.only_there.total() + self.only_here.total()


def report_of(lines: Iterable[Line | None], waiting: Sequence[Line] = (), *, lost: bool = False) -> dict[str, Any]:
    """The report, as JSON has it. `waiting`: work not done yet; `lost`: older lines are gone."""
    read = list(lines)
    calls = [line for line in read if line is not None]
    writes = [line for line in calls if line["kind"] == "write"]
    reads = [line for line in calls if line["kind"] == "read"]
    dropped: Counter[str] = Counter()
    for line in calls:
        if line["kind"] == "dropped":
            dropped[line["why"]] += line["times"]
    report = {
        "period": _period(calls, waiting),
        "mirror": sorted({line["mirror"] for line in calls if "mirror" in line}),
        "writes": _writes(writes, waiting, dropped),
        "reads": _reads(reads),
        "seconds": _seconds(calls),
        "errors": _errors(calls),
        "misses": _misses(reads),
        "questions": [_question(one) for one in _questions(reads)],
        "never_arrived": _never_arrived(writes, waiting),
    }
    unreadable = len(read) - len(calls)
    return report | {"limits": _limits(report, calls, lost=lost, unreadable=unreadable)}


def _period(calls: Sequence[Line], waiting: Sequence[Line]) -> dict[str, Any]:
    times = sorted(line["at"] for line in [*calls, *waiting])
    days = Counter(time[:10] for time in times)
    return {"from": times[0], "to": times[-1], "days": dict(sorted(days.items()))} if times else {"days": {}}


def _writes(writes: Sequence[Line], waiting: Sequence[Line], dropped: Counter[str]) -> dict[str, Any]:
    outcomes = Counter(line["outcome"] for line in writes)
    queued = [line for line in waiting if line["kind"] == "write"]
    return {
        "noted": len(writes) + len(queued),
        **{name: outcomes[name] for name in (*_STOOD, "not_kept", "kept", "gone", "nothing", "not_known", "failed")},
        "failed_why": _counted(line["why"] for line in writes if line["outcome"] == "failed"),
        "waiting": len(queued),
        "waiting_since": min((line["at"] for line in queued), default=None),
        "dropped": dict(dropped),
        "kinds": _counted(line["op"] for line in writes),
        "late_s": _quantiles([line["late_s"] for line in writes]),
    }


def _reads(reads: Sequence[Line]) -> dict[str, Any]:
    compared = [line for line in reads if line["outcome"] == "compared"]
    searches = [line for line in compared if line["query"] is not None]
    ranks = [here - there for line in searches for there, here, _how in line["pairs"]]
    firsts = [line for line in searches if line["there"]]
    return {
        "compared": len(compared),
        "searches": len(searches),
        "lists": len(compared) - len(searches),
        "not_compared": _counted(line["why"] for line in reads if line["outcome"] != "compared"),
        "same": sum(1 for line in compared if not line["why_missed"] and not line.get("why_here")),
        "there": sum(len(line["there"]) for line in compared),
        "here": sum(len(line["here"]) for line in compared),
        "both": sum(len(line["pairs"]) for line in compared),
        "how": _counted(how for line in compared for _there, _here, how in line["pairs"]),
        "only_there": _counted(why for line in compared for why in line["why_missed"].values()),
        "only_here": _counted(why for line in compared for why in line.get("why_here", {}).values()),
        "rank_difference": {"median": median(ranks) if ranks else None, "of": len(ranks)},
        "first_is_here_first": sum(1 for line in firsts if any(pair[:2] == [0, 0] for pair in line["pairs"])),
        "first_is_here": sum(1 for line in firsts if any(pair[0] == 0 for pair in line["pairs"])),
        "searches_answered_there": len(firsts),
        "cut_lists": sum(1 for line in compared if line.get("cut")),
    }


def _seconds(calls: Sequence[Line]) -> dict[str, Any]:
    there: dict[str, list[float]] = defaultdict(list)
    here: dict[str, list[float]] = defaultdict(list)
    for line in calls:
        if "there_s" in line:
            there[line["call"]].append(line["there_s"])
        if "here_s" in line and line["outcome"] != "nothing":
            here[line["call"]].append(line["here_s"])
    names = sorted({*there, *here})
    return {name: {"there": _quantiles(there[name]), "here": _quantiles(here[name])} for name in names}


def _quantiles(values: Sequence[float]) -> dict[str, Any]:
    """Each the smallest value that so many percent do not exceed."""
    ordered = sorted(values)
    found = {f"p{part}": ordered[-(-len(ordered) * part // 100) - 1] if ordered else None for part in (50, 95)}
    return found | {"of": len(ordered)}


def _errors(calls: Sequence[Line]) -> dict[str, Any]:
    there = _counted(f"{line['call']}: {line['error']}" for line in calls if line["kind"] == "error")
    return {"there": there, "here": _counted(f"{one['call']}: {one['why']}" for one in calls if _failed(one))}


def _failed(line: Line) -> bool:
    return line.get("outcome") == "failed"


def _misses(reads: Sequence[Line]) -> list[dict[str, Any]]:
    """Memories that were handed out there and not here, most frequent first, each with a question it answered best."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for line in reads:
        texts = {one["id"]: (place, one["text"]) for place, one in enumerate(line.get("there", ()), start=1)}
        for there, why in line.get("why_missed", {}).items():
            place, text = texts[there]
            about = {"text": text, "why": why, "times": 0, "query": line["query"], "place_there": place}
            one = found.setdefault((text, why), about)
            if place < one["place_there"]:
                one |= {"place_there": place, "query": line["query"]}
            one["times"] += 1
    return sorted(found.values(), key=lambda one: (-one["times"], one["place_there"], one["text"]))


def _questions(reads: Sequence[Line]) -> list[Question]:
    """Those with most differences first."""
    found: dict[tuple[str | None, str], Question] = {}
    for line in reads:
        if line["outcome"] != "compared":
            continue
        whose = " ".join(f"{name}={value}" for name, value in sorted(line["filters"].items()))
        one = found.setdefault((line["query"], whose), Question(line["query"], whose))
        one.times += 1
        paired = {there for there, _here, _how in line["pairs"]}
        for place, hit in enumerate(line["there"]):
            (one.both if place in paired else one.only_there)[hit["text"]] += 1
        one.only_here.update(hit["text"] for hit in line["here"] if hit["id"] in line.get("why_here", {}))
    return sorted(found.values(), key=lambda one: (-one.differences, one.query or ""))


def _question(one: Question) -> dict[str, Any]:
    sides = {name: dict(getattr(one, name)) for name in ("both", "only_there", "only_here")}
    return {"query": one.query, "whose": one.whose, "times": one.times, **sides}


def _never_arrived(writes: Sequence[Line], waiting: Sequence[Line]) -> list[dict[str, Any]]:
    lost = [line for line in writes if line["outcome"] in ("failed", "not_kept", "not_known")]
    rows = [(line, line.get("why", line["outcome"])) for line in lost]
    rows += [(line, "waiting") for line in waiting if line["kind"] == "write"]
    return [
        {"at": line["at"], "op": line["op"], "why": why, "text": _text(line), "there": line["there"]}
        for line, why in rows
    ]


def _text(line: Line) -> str:
    return str(line.get("text") or line.get("changes", {}).get("text") or "")


def _limits(report: dict[str, Any], calls: Sequence[Line], *, lost: bool, unreadable: int) -> list[str]:
    """What cannot be said, or not surely, in sentences."""
    writes, reads = report["writes"], report["reads"]
    left_out = Counter(name for line in calls for name in line.get("left_out", ()))
    untold = sum(1 for line in calls if line.get("untold"))
    unknown, alike = reads["only_there"].get(UNKNOWN, 0), reads["how"].get("alike", 0)
    limits = [
        (lost, "Older lines are gone: the log had reached its size. The figures begin where it begins now."),
        (unreadable, f"Lines of the log that cannot be read: {unreadable}."),
        (untold, f"Calls that did not say what the store keeps: {untold}. Their messages were mirrored instead."),
        (unknown, f"Handed out there, and not written while the shadow ran: {unknown}. Bring in the old history."),
        (alike, f"Pairs that are one by nearly the same words, not by what was mirrored: {alike}. Look at them."),
        (reads["cut_lists"], f"Lists that ended at their limit there: {reads['cut_lists']}. None has “only here”."),
        (reads["not_compared"], f"Not compared: {in_words(reads['not_compared'])}."),
        (left_out, f"Options of the store that nothing here answers to: {in_words(left_out)}."),
        (writes["dropped"], f"Dropped, and neither mirrored nor compared: {in_words(writes['dropped'])}."),
        (writes["kept"], f"Deleted there, kept here where other memories rest on the same words: {writes['kept']}."),
        ("messages" in report["mirror"], "Facts drawn from the same messages in other words count as one only if "
         "memplatform says what they were made of."),
        (True, "Whether a memory was of use to the bot. What was missed here may be what nobody needed there."),
        (True, "Scores and thresholds: their scales differ. Here is asked without the threshold of the store."),
        (True, "Times: there of the bot's own call, here of calls made afterwards, one after the other."),
    ]  # fmt: skip
    return [sentence for holds, sentence in limits if holds]


def in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} ({times})" for name, times in counts.items())


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())
