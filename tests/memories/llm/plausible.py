"""What a dutiful model answers, by the data it is shown."""

from typing import Any


def plausible(asked: Any) -> dict[str, Any]:
    """An answer as a dutiful model would give it, by what stands in the data."""
    data = asked.data if isinstance(asked.data, dict) else {}
    if "before" in data:
        return _flush(data["before"], data["messages"])
    if messages := data.get("messages"):
        result = " ".join(str(message.get("content", "")) for message in messages)
        if "id" not in messages[-1]:
            return {"summary": result[:1_500]}
        facts = [_fact(message) for message in messages if message.get("role") == "user"]
        return {"facts": facts[:50], "summary": _shown(messages)}
    if days := data.get("days"):
        return {"facts": [_drawn(day) for day in days][:50]}
    if notes := data.get("notes"):
        return {"summary": " ".join(str(note["said"]) for note in notes)[:800]}
    if "profile" in data:
        return {"keep": [line["id"] for line in data["profile"]], "write": [], "drop": []}
    if "facts" in data:
        return {"keep": [fact["id"] for fact in data["facts"]], "merge": [], "drop": []}
    return {"summary": " ".join(map(str, data.values()))[:100] or "nothing"}


def _shown(messages: list[dict[str, Any]], limit: int = 200) -> str:
    """As many of the messages as there is room for, each as a sentence."""
    shown = ""
    for message in messages:
        result = " ".join(str(message.get("content", "")).split())
        longer = f"{shown} {result if result[-1:] in '.!?。！？' else result + '.'}".strip()
        if len(longer) > limit:
            break
        shown = longer
    return shown


def _flush(before: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What the people said is worth remembering, as they said it."""
    of_user = [message for message in messages if message["role"] == "user"]
    result = " ".join([before, *(f"{message['speaker']}: {message['content']}" for message in of_user)])
    facts = [_fact({**message, "id": message["position"]}) for message in of_user[:30]]
    quoted = [fact.pop("quote") for fact in facts]
    candidates = [
        {**fact, "rests_on": [quote["message"] for quote in quotes], "quote": [quote["text"] for quote in quotes]}
        for fact, quotes in zip(facts, quoted, strict=True)
    ]
    return {"version": 1, "reply": "", "continue": result[:1_500], "candidates": candidates}


def _fact(message: dict[str, Any]) -> dict[str, Any]:
    whole = " ".join(str(message.get("content", "")).split()[:40])
    quote = whole if len(whole) <= 90 else whole[:90].rsplit(" ", 1)[0]
    labels = {"project": "_global", "topic": "_general", "category": "event", "importance": 0.5}
    return {"content": quote or "…", **labels, "quote": [{"message": message["id"], "text": quote or "…"}]}


def _drawn(day: dict[str, Any]) -> dict[str, Any]:
    fact = _fact({"id": day["id"], "content": day["said"]})
    return {**fact, "quote": [{"day": day["id"], "text": fact["content"]}]}
