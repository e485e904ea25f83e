"""A conversation as statements about it are checked: what was said, and who its people are (D5)."""

from collections.abc import Collection, Mapping, Sequence

from memories.language import names, relations
from memories.models import Scope
from memories.verification.claims import Conversation, Message
from memories.verification.persons import People


def conversation_of(
    messages: Sequence[Message], authors: Mapping[str, str], scope: Scope | None, projects: Sequence[str] = ()
) -> Conversation:
    """These messages, read as some of their authors would: «I» is one of them.

    `authors` are ids of senders by the names people call them; `scope` is the memory whose nicknames are known.
    """
    spoken = [one for one in messages if not one.is_answer]
    speakers = {one.speaker for one in spoken}
    learnt = dict(scope.nicknames) if scope else {}
    for one in spoken:
        learnt |= names.learn(one.content, one.speaker) | relations.learn(one.content)
    own = {alias for author, sender in authors.items() for alias in _called(author, sender, learnt)}
    # By what names authors introduce themselves
    own |= {name for one in spoken if one.speaker in authors for name in names.introduced(one.content)}
    if scope and len(speakers) == 1:
        own |= set(scope.speakers)
    people = People.of({*authors, *own}, speakers - authors.keys(), learnt)
    known = [*projects, *(scope.projects if scope else []), *learnt.values()]
    return Conversation(list(messages), people, known)


def _called(author: str, sender: str, learnt: Mapping[str, str]) -> Collection[str]:
    """By what names an author goes besides."""
    own = {names.fold(author), names.fold(f"{names.UNNAMED}{sender}")}
    also = {alias for alias, name in relations.without_relations(learnt).items() if names.fold(name) in own}
    return also | {*names.given_names(author)}
