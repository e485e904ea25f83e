"""A report for people: as text for a terminal, or as markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Table = Sequence[Sequence[Any]]
_WHY = {
    "ranked": "stands here, other memories came first",
    "held_back": "stands here, was not held to bear on it (there was room)",
    "out_of_use": "mirrored, and no longer in use here (merged, expired or taken out)",
    "of_a_user": "belongs to a user, and the question names none",
    "unknown": "never written while the shadow ran",
    "ranked_there": "stands there too, not among the best",
    "not_there": "stands here alone",
}


def why_told(why: str) -> str:
    """A reason in words; codes of errors as they are."""
    code, _, detail = why.partition(":")
    return f"was not mirrored: {detail}" if code == "not_mirrored" else _WHY.get(why, why)


def rendered(report: Mapping[str, Any], *, markdown: bool, questions: int, texts: bool) -> Iterator[str]:
    """Line by line. Without `texts` nothing of what people said is in it."""
    form = _Markdown() if markdown else _Plain()
    yield from form.heading("Shadow report", 1)
    period = report["period"]
    if not period["days"]:
        yield "Nothing was noted yet."
        return
    begun, ended = (period[name][:16].replace("T", " ") for name in ("from", "to"))
    yield f"{begun} to {ended} UTC, {len(period['days'])} days with calls. Mirrored: {', '.join(report['mirror'])}."
    yield f"{'«There»' if not markdown else '**There**'} is the store of the bot, here is memplatform."
    yield from _figures(report, form)
    if texts:
        yield from _misses(report["misses"], form)
        yield from _questions(report["questions"][:questions], form)
        yield from _never(report["never_arrived"], form)
    yield from form.heading("What cannot be compared", 2)
    yield from (f"- {sentence}" for sentence in report["limits"])
    if texts:
        yield ""
        yield "This report holds what people said. --no-texts leaves that out."


def _figures(report: Mapping[str, Any], form: _Plain) -> Iterator[str]:
    writes, reads = report["writes"], report["reads"]
    yield from form.heading("Writes", 2)
    yield from form.table(("", "writes"), list(_write_rows(writes)))
    yield from form.heading("Questions", 2)
    yield from form.table(("", ""), list(_read_rows(reads)))
    for side, title in (("only_there", "Only there"), ("only_here", "Only here")):
        if reads[side]:
            yield ""
            yield from form.table((title, "times"), [(why_told(why), n) for why, n in reads[side].items()])
    yield from form.heading("Milliseconds", 2)
    rows = list[Sequence[Any]]()
    for name, sides in report["seconds"].items():
        times = [_milliseconds(sides[side][part]) for side in ("there", "here") for part in ("p50", "p95")]
        rows.append((name, sides["there"]["of"], *times))
    yield from form.table(("call", "calls", "there p50", "there p95", "here p50", "here p95"), rows)
    if any(report["errors"].values()):
        yield from form.heading("Errors", 2)
        errors = [(side, what, n) for side, counts in report["errors"].items() for what, n in counts.items()]
        yield from form.table(("side", "what", "times"), errors)


def _write_rows(writes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    words = {
        "noted": "noted",
        "mirrored": "mirrored",
        "known": "known here already, in other words or before",
        "not_kept": "not kept here: nothing new in it, or people took it out",
        "kept": "deleted there, kept here: others rest on the same words",
        "gone": "deleted there, out of use here before",
        "nothing": "the store itself kept nothing",
        "not_known": "changed or deleted there, and never known here",
        "failed": "failed",
        "waiting": "waiting",
    }
    always = ("noted", "mirrored", "failed", "waiting")
    yield from ((text, writes[name]) for name, text in words.items() if writes[name] or name in always)
    yield from ((f"failed: {why}", n) for why, n in writes["failed_why"].items())
    yield "dropped", sum(writes["dropped"].values())
    yield from ((f"dropped: {why}", n) for why, n in writes["dropped"].items())
    if writes["waiting_since"]:
        yield "the oldest waits since", writes["waiting_since"][:16].replace("T", " ")
    late = writes["late_s"]
    if late["of"]:
        yield "mirrored after (seconds, p50 / p95)", f"{late['p50']:.1f} / {late['p95']:.1f}"


def _read_rows(reads: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "compared", f"{reads['compared']} ({reads['searches']} searches, {reads['lists']} lists)"
    yield "not compared", sum(reads["not_compared"].values())
    yield "the same memories on both sides", reads["same"]
    yield "memories handed out there", reads["there"]
    yield "… of them also here", f"{reads['both']} ({_percent(reads['both'], reads['there'])})"
    yield "memories handed out here", reads["here"]
    yield "… of them here alone", sum(reads["only_here"].values())
    answered = reads["searches_answered_there"]
    yield "the first there is the first here", f"{reads['first_is_here_first']} of {answered} searches"
    yield "… is among those here", f"{reads['first_is_here']} of {answered} searches"
    rank = reads["rank_difference"]
    yield "places lower here than there, median", "–" if rank["median"] is None else f"{rank['median']:+g}"


def _misses(misses: Sequence[Mapping[str, Any]], form: _Plain) -> Iterator[str]:
    if misses:
        yield from form.heading("Most often missed here", 2)
        rows = [
            (one["times"], one["place_there"], _short(one["text"]), why_told(one["why"]), _short(one["query"]))
            for one in misses[:10]
        ]
        yield from form.table(("times", "best place", "memory", "why", "asked, for example"), rows)


def _questions(questions: Sequence[Mapping[str, Any]], form: _Plain) -> Iterator[str]:
    if questions:
        yield from form.heading("Question by question, those that differ most first", 2)
    for one in questions:
        yield ""
        asked = "(a list of all)" if one["query"] is None else f"“{_short(one['query'])}”"
        yield f"{asked} {one['whose']}, {one['times']}×"
        for name, title in (("both", "both"), ("only_there", "only there"), ("only_here", "only here")):
            yield from (f"- {title}: {_short(text)}" + (f" ×{n}" if n > 1 else "") for text, n in one[name].items())


def _never(rows: Sequence[Mapping[str, Any]], form: _Plain) -> Iterator[str]:
    if rows:
        yield from form.heading("Writes that never arrived", 2)
        cells = [(one["at"][:16].replace("T", " "), one["op"], _short(one["text"]), one["why"]) for one in rows[:20]]
        yield from form.table(("when", "what", "text", "why"), cells)
        if len(rows) > len(cells):
            yield f"… and {len(rows) - len(cells)} more; --json has all."


def _short(text: str | None) -> str:
    line = " / ".join((text or "").split("\n"))
    return line if len(line) <= 70 else line[:69] + "…"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:.0f}"


class _Plain:
    """For a terminal."""

    def heading(self, text: str, level: int) -> Iterator[str]:
        yield from ([""] if level > 1 else [])
        yield text
        yield ("=" if level == 1 else "-") * len(text)

    def table(self, titles: Sequence[str], rows: Table) -> Iterator[str]:
        cells = [[str(cell) for cell in row] for row in ([titles] if any(titles) else []) + list(rows)]
        widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            padded = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
            yield "  ".join(padded).rstrip()


class _Markdown(_Plain):
    """For a page."""

    def heading(self, text: str, level: int) -> Iterator[str]:
        yield from ([""] if level > 1 else [])
        yield f"{'#' * level} {text}"
        yield ""

    def table(self, titles: Sequence[str], rows: Table) -> Iterator[str]:
        for row in (titles, ["---"] * len(titles), *rows):
            yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"


def _width(text: str) -> int:
    """Chinese takes two places each."""
    return sum(2 if "\u2e80" <= char <= "\uffef" else 1 for char in text)
