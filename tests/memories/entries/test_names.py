"""What a memory is about: its names, as bots and people give them (C3)."""

import json

import pytest

from memories.models import Entry, Scope
from tests.conftest import Api

pytestmark = pytest.mark.django_db

KUBE = {
    "scope": "main",
    "content": "In production we run 1.29.",
    "type": "fact",
    "names": ["Kubernetes", "k8s", "kube"],
}


def saved(api: Api, **fields: object) -> dict[str, object]:
    answer = api.post("entries", {**KUBE, **fields})
    assert answer.status_code == 201, answer.json()
    return dict(answer.json())


def test_names_are_kept_and_told_changed_and_reverted(api: Api) -> None:
    entry = saved(api)
    assert entry["names"] == ["Kubernetes", "k8s", "kube"]
    changed = api.request("PATCH", f"entries/{entry['id']}", json.dumps({"names": ["Kubernetes"]}))
    assert changed.json()["names"] == ["Kubernetes"]
    reverted = api.post(f"entries/{entry['id']}/revert", {"version": 1})
    assert reverted.json()["names"] == ["Kubernetes", "k8s", "kube"]


@pytest.mark.parametrize(
    ("names", "field"),
    [
        (["k8s"] * 11, "names"),
        (["x" * 101], "names.0"),
        (["ok", " "], "names.1"),
        (["a\0b"], "names.0"),
        ("k8s", "names"),
    ],
)
def test_names_that_cannot_be_are_refused_by_their_place(api: Api, names: object, field: str) -> None:
    answer = api.post("entries", {**KUBE, "names": names})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["attr"].startswith(field)
    assert not Entry.objects.exists()


def test_a_question_by_another_name_finds_what_says_the_first(api: Api) -> None:
    """The scope knows that k8s is Kubernetes, so that a memory with that word alone is found as well."""
    saved(api)
    saved(api, content="Upgrades of Kubernetes happen on Tuesdays.", names=[])
    for n in range(5):
        saved(api, content=f"The office closes at {n} on day {n}.", names=[])
    answer = api.post("recall", {"scope": "main", "message": "when do we upgrade k8s?"}).json()
    assert answer["memories"][0]["content"] == "Upgrades of Kubernetes happen on Tuesdays."


def test_a_name_that_is_known_here_makes_a_message_need_memory(api: Api) -> None:
    message = {"scope": "main", "message": "How many people fit into Mercury?"}
    saved(api, names=[])
    assert not api.post("recall", message).json()["need"]["retrieve"], "a planet to everybody else"
    saved(api, content="The big meeting room seats twelve.", names=["Mercury"])
    assert api.post("recall", message).json()["need"] == {"retrieve": True, "rule": "name"}


def test_a_name_of_two_things_stands_for_neither_in_place_of_the_other(api: Api) -> None:
    saved(api, content="The cache holds sessions.", names=["Redis cache", "Redis"])
    saved(api, content="The pianist plays on Friday.", names=["Redis Marlow", "Redis"])
    assert Scope.objects.get(key="main").nicknames["redis"] == ""
