"""Facts of simulated people, in two wordings each, and models that judge them: one dutiful, one at random."""

import random
from collections.abc import Callable
from typing import Any

PEOPLE = ("Mia", "Bob", "Carol", "Dana", "Emil", "Freya", "Gus", "Hana", "Ivo", "Jun")
#: Facts about people, each in two wordings; what differs between two facts of a kind is in braces.
KINDS = (
    ("hobby", "{who} spends {day}s {what} with the neighbours.", "With the neighbours {who} spends {day}s {what}.",
     ("sailing", "baking", "climbing", "painting", "gardening", "fencing", "rowing", "knitting")),
    ("trip", "{who} plans a trip to {what} in the {day} group.", "In the {day} group {who} plans a trip to {what}.",
     ("Lisbon", "Oslo", "Kyoto", "Quito", "Hanoi", "Tbilisi", "Dakar", "Perth")),
    ("work", "{who} repairs the {what} every {day} before lunch.", "Before lunch {who} repairs the {what} every {day}.",
     ("boiler", "elevator", "printer", "harvester", "turbine", "projector", "scanner", "tractor")),
    ("food", "{who} cooks {what} for the whole house on {day}.", "On {day} {who} cooks {what} for the whole house.",
     ("lentils", "dumplings", "risotto", "goulash", "paella", "ramen", "curry", "pierogi")),
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


def texts(count: int, seed: int = 3) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Facts with their topics, and of every fifth another wording: the pairs a good model would merge."""
    pick = random.Random(seed)
    every = [(kind, who, what, day) for kind in KINDS for who in PEOPLE for what in kind[3] for day in DAYS]
    facts, twins = [], {}
    for n, (kind, who, what, day) in enumerate(pick.sample(every, min(count, len(every)))):
        content, again = (wording.format(who=who, what=what, day=day) for wording in kind[1:3])
        facts.append((kind[0], content))
        if n % 5 == 0:
            facts.append((kind[0], again))
            twins[content], twins[again] = again, content
    pick.shuffle(facts)
    return facts, twins


def merging_twins(twins: dict[str, str]) -> Callable[[Any], Any]:
    def answer(request: Any) -> Any:
        if "profile" in request.data:
            return {"keep": [], "write": [], "drop": []}
        ids = {fact["content"]: fact["id"] for fact in request.data["facts"]}
        pairs = {tuple(sorted((item, twins[item]))) for item in ids if twins.get(item) in ids}
        merge = [{"ids": [ids[one], ids[other]], "content": one} for one, other in sorted(pairs)]
        return {"keep": [], "merge": merge, "drop": []}

    return answer


def at_random(pick: random.Random) -> Callable[[Any], Any]:
    def answer(request: Any) -> Any:
        if "profile" in request.data:
            return {"keep": [], "write": [], "drop": []}
        rows = list(request.data["facts"])
        pick.shuffle(rows)
        third = len(rows) // 3
        pairs = zip(rows[:third:2], rows[1:third:2], strict=False)
        shorter = [(one, other, min(one["content"], other["content"], key=len)) for one, other in pairs]
        merge = [
            {"ids": [one["id"], other["id"]], "content": content} for one, other, content in shorter if _fits(content)
        ]
        return {"keep": [], "merge": merge, "drop": [row["id"] for row in rows[third : 2 * third]]}

    return answer


def _fits(content: str) -> bool:
    """What is longer is refused with the whole answer, and that is too easy."""
    return len(content.split()) < 50
