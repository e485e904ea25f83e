"""Harmless differences make no second memory, and a changed fact always does (A10): on pairs of our own."""

import pytest

from memories.language import text
from memories.language.similarity import Likeness, compare
from tests.memories.language.merging_pairs import pairs

MERGED = (Likeness.SAME, Likeness.ALIKE)
THRESHOLDS = [0.80, 0.70]  # in general, and of turns within the hour


def merged(old: str, new: str, threshold: float) -> bool:
    return compare(old, new, threshold=threshold)[0] in MERGED


def near(name: str, threshold: float) -> list[tuple[str, str]]:
    """The pairs that share enough words to be one memory at all."""
    return [pair for pair in pairs(name) if text.jaccard(text.shingles(pair[0]), text.shingles(pair[1])) >= threshold]


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("name", ["harmless", "harmless_unseen"])
def test_what_says_the_same_in_other_words_is_one_memory(name: str, threshold: float) -> None:
    chosen = near(name, threshold)
    share = sum(merged(*pair, threshold) for pair in chosen) / len(chosen)
    assert len(chosen) >= 20 and share >= (0.80 if name == "harmless_unseen" else 0.85)


@pytest.mark.parametrize("prefix", ["", "User: "])
@pytest.mark.parametrize(("old", "new"), [*pairs("changed"), *pairs("changed_unseen")])
def test_a_changed_fact_is_another_memory(old: str, new: str, prefix: str) -> None:
    for one, other in ((old, new), (new, old)):
        end = "\nAssistant: Noted." if prefix else ""
        assert not merged(f"{prefix}{one}{end}", f"{prefix}{other}{end}", 0.5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "We moved the desk to the big room on the second floor",
            "We moved the desk into the big room on the second floor",
        ),
        ("The firm closed its old office near the harbour", "The firm closed the old office near the harbour"),
        ("I love long walks along the river at dawn", "I enjoy long walks along the river at dawn"),
        ("我每天早上都会去公园跑步然后去上班", "我每天早上会去公园跑步然后去上班"),
        ("Every Sunday we have lunch with my grandparents", "We have lunch with my grandparents every Sunday"),
        ("明天下午我和同事要去客户那边", "我和同事明天下午要去客户那边"),
        ("The tests run at night, on the small server", "The tests run at night on the little server"),
    ],
)
def test_a_turn_is_read_line_by_line(old: str, new: str) -> None:
    turns = [f"User: {said}\nAssistant: I will keep that in mind." for said in (old, new)]
    assert merged(turns[0], turns[1], 0.70)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A few of the guests left before the cake", "Few of the guests left before the cake"),
        ("In May Anna left the firm. Bob stayed there", "Anna left the firm. In May Bob stayed there"),
        ("Mark works with Start near the lake", "Mark works with Begin near the lake"),
        ("I sent the photo of Maria to the office", "I sent the photo for Maria to the office"),
        ("My brother plays tennis in the park", "My brothers play tennis in the park"),
        ("He worked at the bank in the old town", "He works at the bank in the old town"),
        ("我买了路口的那套房子", "我买路口的那套房子"),
        ("周一开会周二休息", "周二开会周一休息"),
    ],
)
def test_what_looks_harmless_and_is_not(old: str, new: str) -> None:
    assert not merged(old, new, 0.3) and not merged(new, old, 0.3)


@pytest.mark.thorough
def test_a_long_text_is_compared_in_a_moment() -> None:
    words = " ".join(["the dog", "a cat", "likes to"] * 8_000)
    assert not merged(words + " one", words + " two", 0.5)
    assert not merged(f"天天{'天' * 5_000}", f"天天{'天' * 5_000}末", 1.0)


def test_the_lists_are_as_long_as_they_claim() -> None:
    harmless = [*pairs("harmless"), *pairs("harmless_unseen")]
    changed = [*pairs("changed"), *pairs("changed_unseen")]
    assert len(set(harmless)) >= 60 and len(set(changed)) >= 100
