"""How often is a sentence that becomes a fact in a person's own words one that lasts, and how many of those are found?

Of `evals/data`, or of a folder of sets in the same form (`lasting.LANGUAGE.jsonl`, `passing.LANGUAGE.jsonl`), or of
`messages_LANGUAGE.jsonl`, in which `lasting` lists the sentences of each text that last. Then of the pairs in which
something is told anew (`told_anew.txt`, `told_anew_judging.txt`): how often the later takes the place of the earlier.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from memories.language.attributes import lasting_sentences, replaces

DATA = Path(__file__).parent.parent / "data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", type=Path, default=DATA, help="the folder with the sets")
    parser.add_argument("--show", action="store_true", help="also print what is wrong and what is missed")


def main(options: argparse.Namespace) -> None:
    for language in ("en", "zh"):
        total = right = lasting = 0
        for text, parts in read(options.sets, language):
            result = lasting_sentences(text)
            fitting = [sentence for sentence in result if any(fits(sentence, part) for part in parts)]
            missed_parts = [part for part in parts if not any(fits(sentence, part) for sentence in result)]
            total, right, lasting = total + len(result), right + len(fitting), lasting + len(parts)
            if options.show:
                for kind, sentences in (
                    ("wrong", [item for item in result if item not in fitting]),
                    ("missed", missed_parts),
                ):
                    for sentence in sentences:
                        print(f"{language} {kind}: {sentence}")
        precision = f"{right / total:.2f}" if total else "-"
        print(f"{language}: {right} of {total} taken are right ({precision}), of {lasting} that last")

    for name in ("told_anew", "told_anew_judging"):
        if (path := options.sets / f"{name}.txt").exists():
            told_anew(path, is_shown=options.show)


def told_anew(path: Path, *, is_shown: bool) -> None:
    """Print how many pairs are replaced, and how many of those wrongly; both sentences have to become facts."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        language, kind, earlier, later = line.split("|")
        verdict = "right" if kind == "replaces" else "wrong"
        is_replaced = replaces(later, earlier)
        are_facts = bool(lasting_sentences(earlier) and lasting_sentences(later))
        counts[language, verdict, "all"] += 1
        counts[language, verdict, "replaced"] += is_replaced
        counts[language, verdict, "facts"] += is_replaced and are_facts
        if is_shown and is_replaced != (verdict == "right"):
            print(f"{path.stem} {language} {kind}: {earlier} → {later}")
    for language in ("en", "zh"):
        right, wrong = ({name: counts[language, verdict, name] for name in ("all", "replaced", "facts")}
                        for verdict in ("right", "wrong"))  # fmt: skip
        print(f"{path.stem} {language}: replaced {right['replaced']} of {right['all']} (both facts in"
              f" {right['facts']}), wrongly {wrong['replaced']} of {wrong['all']}")  # fmt: skip


def read(folder: Path, language: str) -> Iterator[tuple[str, list[str]]]:
    """Each text, and the sentences of it that last."""
    messages = folder / f"messages_{language}.jsonl"
    if messages.exists():
        for line in messages.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            yield case["text"], case["lasting"]
        return
    for name in ("lasting", "passing"):
        for line in (folder / f"{name}.{language}.jsonl").read_text(encoding="utf-8").splitlines():
            text = json.loads(line)["text"]
            yield text, [text] if name == "lasting" else []


def fits(sentence: str, part: str) -> bool:
    """Whether a sentence that was taken holds one that lasts, or is part of it."""
    one, other = ("".join(text.casefold().split()).strip(".。!！") for text in (sentence, part))
    return one in other or other in one
