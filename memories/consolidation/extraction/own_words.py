"""Facts in a person's own words, where no model reads the conversation (D5).

Without one, what somebody says about themselves would end with its turn. A sentence of which the rules are sure becomes
a fact as it stands, with its message as evidence, and without an end. It replaces an earlier fact where the words of
the two leave no doubt, or where both tell what there is one of at a time («I live in Berlin», «I moved to Munich»); it
is listed, judged and taken back like a model's.
"""

from collections.abc import Iterator, Sequence

from memories.choices import EntryType, Reading, ScopeKind, Source, Verification
from memories.consolidation.extraction.findings import TIER, Contradiction, FactsAround, Finding, may_correct
from memories.consolidation.extraction.ownership import ScopeMessages
from memories.entries.draft import Draft, QuotedWords
from memories.kinds import Category
from memories.language import attributes
from memories.language.compare import ConflictVerdict, corrects
from memories.language.lasting import lasting_sentences
from memories.language.secret_forms import MASKED
from memories.language.sentences import asks_to_keep
from memories.language.turns import telling_sentences
from memories.models import Entry, Scope
from memories.verification import find_quote

#: Less than what a person asks to have kept, and than what a model thinks most important.
IMPORTANCE = 0.7
#: Facts in somebody's own words that a new one is compared with, the latest.
OWN_FACTS = 500


def find_in_own_words(scopes: Sequence[ScopeMessages]) -> list[Finding]:
    """What people say about themselves in these messages, for the memory of each; a chat's memory gets none.

    A message that asks to be kept is kept whole already. What its author takes back later becomes no fact, though what
    takes it back may be none either.
    """
    drafts = [draft for scoped in scopes if scoped.scope.kind == ScopeKind.USER for draft in _drafts(scoped)]
    drafts.sort(key=lambda draft: draft.at)
    if not drafts:
        return []
    around = FactsAround(drafts, replaced_pks=())
    own_facts = {draft.scope.pk: own_words_of(draft.scope) for draft in drafts if attributes.read(draft.content).values}
    findings = []
    for n, draft in enumerate(drafts):
        later = (other for other in drafts[n + 1 :] if other.scope.pk == draft.scope.pk)
        if any(attributes.replaces(other.content, draft.content) or may_correct(other, draft) for other in later):
            continue
        certain = [
            pair
            for pair in around.contradicted_by(draft, replaced_pks=())
            if pair.conflict is ConflictVerdict.CERTAIN and not is_of_attribute(draft.content, pair.fact.content)
        ]
        for fact in own_facts.get(draft.scope.pk, ()):
            is_newer = fact.stated_at > draft.at
            order = (fact.content, draft.content) if is_newer else (draft.content, fact.content)
            if attributes.replaces(*order):
                certain.append(Contradiction(fact, ConflictVerdict.CERTAIN, is_newer=is_newer))
        for pair in certain:
            pair.reading = Reading.CONTRADICTED
        findings.append(Finding(draft, certain))
    return findings


def own_words_of(scope: Scope) -> list[Entry]:
    """The facts in use that are somebody's own words, which may share no word with what takes their place."""
    facts = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT, source=Source.EXTRACTION)
    own = facts.filter(category=Category.IDENTITY, verification=Verification.NONE)
    return list(own.order_by("-stated_at", "-pk")[:OWN_FACTS])


def is_of_attribute(newer: str, older: str) -> bool:
    """Whether one of two sentences tells what there is one of at a time: then that alone decides about the two."""
    return bool(attributes.read(newer).values or attributes.read(older).values)


def _drafts(scoped: ScopeMessages) -> Iterator[Draft]:
    for item in scoped.messages:
        content = item.message.content
        if item.is_answer or asks_to_keep(content):
            continue
        later = [
            other.message.content
            for other in scoped.messages
            if not other.is_answer and other.speaker == item.speaker and other.message.at > item.message.at
        ]
        for sentence in lasting_sentences(content):
            if any(corrects("\n".join(telling_sentences(words)), sentence) for words in later):
                continue
            if MASKED not in sentence and (spans := find_quote(sentence, content)):
                span = spans[0]
                message = item.message
                words = QuotedWords(
                    origin=message.id,
                    start=span.start,
                    end=span.end,
                    quote=span.text(message.content),
                    at=message.at,
                    speaker=item.speaker,
                )
                yield Draft(
                    scope=scoped.scope,
                    type=EntryType.FACT,
                    tier=TIER,
                    category=Category.IDENTITY,
                    importance=IMPORTANCE,
                    content=sentence,
                    source=Source.EXTRACTION,
                    at=message.at,
                    chats=scoped.chats([message.id]),
                    origins=(message.id,),
                    evidence=(words,),
                )
