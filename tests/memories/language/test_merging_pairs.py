"""Harmless differences make no second memory, and a changed fact always does (A10): on pairs of our own."""

import pytest

from memories.language import text
from memories.language.likeness import Likeness, compare, says_all
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


@pytest.mark.parametrize(("name", "most"), [("repeated", 1), ("repeated_more", 0)])
def test_a_repetition_with_a_filler_or_a_time_elsewhere_is_one_memory(name: str, most: int) -> None:
    missed = [(old, new) for old, new in pairs(name) if not (merged(old, new, 0.80) and merged(new, old, 0.80))]
    assert len(missed) <= most, missed


@pytest.mark.parametrize(("name", "least"), [("restated", 35), ("restated_later", 16)])
def test_what_is_said_again_another_day_is_mostly_one_memory(name: str, least: int) -> None:
    """Before the rules for these it was 23 of 40, and 11 of 20 that were written before them."""
    one = [pair for pair in pairs(name) if merged(*pair, 0.80) and merged(*pair[::-1], 0.80)]
    assert len(one) >= least, set(pairs(name)) - set(one)


def test_what_looks_like_a_repetition_and_says_something_else_is_another_memory() -> None:
    both = [*pairs("not_repeated"), *pairs("not_repeated_more"), *pairs("not_restated"), *pairs("not_restated_later")]
    wrong = [(old, new) for old, new in both if merged(old, new, 0.3) or merged(new, old, 0.3)]
    assert len(both) >= 120 and not wrong


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
    turns = [f"User: {message}\nAssistant: I will keep that in mind." for message in (old, new)]
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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My sister enjoys long walks along the river", "My sister enjoys taking long walks along the river"),
        ("Our team writes the notes before each deployment", "Our team writes the notes right before each deployment"),
        ("I go for a run in the park at the lake", "I go for a run through the park at the lake"),
        ("The kitchen floor is slippery in the winter months", "The kitchen floor gets slippery in the winter months"),
        ("我每天早上坐公交车去上班，顺便看看新闻。", "我每天早上坐公交车去上班，顺便看新闻。"),
        ("夏天我们花园里的花每天傍晚都需要浇水。", "夏天我们花园里的花每天傍晚都要浇水。"),
        ("我爸爸每年春天都在家里的阳台上种很多番茄和辣椒。", "我爸爸每年春天都在家里的阳台上种很多西红柿和辣椒。"),
    ],
)
def test_what_only_stresses_or_says_it_otherwise_makes_no_second_memory(old: str, new: str) -> None:
    assert merged(old, new, 0.70) and merged(new, old, 0.70)


@pytest.mark.parametrize(
    ("fuller", "shorter"),
    [
        ("My sister especially enjoys taking long walks", "My sister enjoys long walks"),
        ("Buy the oat milk please", "Buy the oat milk"),
        ("我每天早上看看新闻。", "我每天早上看新闻。"),
        ("请你买燕麦奶。", "买燕麦奶。"),
    ],
)
def test_of_two_that_say_the_same_the_fuller_stays(fuller: str, shorter: str) -> None:
    assert says_all(fuller, shorter)
    assert not says_all(shorter, fuller)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Please buy the oat milk", "Buy the oat milk today please"), ("我种番茄。", "我种西红柿。")],
)
def test_what_has_a_word_of_its_own_is_another_wording(old: str, new: str) -> None:
    assert not says_all(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The printer on our floor jams when it is damp", "The printer on our floor never jams when it is damp"),
        ("I like my coffee with sugar and oat milk", "I like my coffee without sugar and oat milk"),
        ("We keep the keys in the blue drawer of the kitchen", "We keep the keys in the red drawer of the kitchen"),
        ("My father grows tomatoes on the balcony here", "My mother grows tomatoes on the balcony here"),
        ("The cat sleeps on the sofa during the day", "The cat sleeps under the sofa during the day"),
        ("I go for a run in the park before breakfast", "I go for a run in the park after breakfast"),
        ("I used to play the piano in my free time", "I play the piano in my free time"),
        ("My son takes the bus to his school in town", "My son takes the tram to his school in town"),
        ("She walks with Anna along the river every day", "She walks with Bella along the river every day"),
        ("我妹妹喜欢晚饭后沿着河边散步。", "我妹妹不喜欢晚饭后沿着河边散步。"),
        ("我们周一晚上在俱乐部的厨房见面。", "我们周二晚上在俱乐部的厨房见面。"),
        ("王芳晚饭后喜欢沿着河边散步。", "王丽晚饭后喜欢沿着河边散步。"),
        ("会议在三楼的小会议室上午九点开始。", "会议在三楼的小会议室上午十点开始。"),
        ("我已经把报告交给经理看过了。", "我还没把报告交给经理看过。"),
    ],
)
def test_another_number_date_name_or_denial_is_another_memory(old: str, new: str) -> None:
    assert not merged(old, new, 0.70) and not merged(new, old, 0.70)
