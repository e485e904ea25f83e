"""Facts in a person's own words, where no model reads the conversation (D5).

Without one, what somebody says about themselves would end with its turn. A sentence of which the rules are sure becomes
a fact as it stands, with its message as evidence, and without an end. It replaces an earlier fact where the words of
the two leave no doubt; it is listed, judged and taken back like a model's.
"""

from collections.abc import Iterator, Sequence

from memories.choices import EntryType, Reading, ScopeKind, Source
from memories.consolidation.extraction.findings import TIER, FactsAround, Finding, may_correct
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages
from memories.entries.draft import Draft, QuotedWords
from memories.kinds import Category
from memories.language.asking import asks_to_keep
from memories.language.compare import ConflictVerdict
from memories.language.lasting import lasting_sentences
from memories.language.secret_forms import MASKED
from memories.verification import Span, find_quote

#: Less than what a person asks to have kept, and than what a model thinks most important.
IMPORTANCE = 0.7


def find_in_own_words(scopes: Sequence[ScopeMessages]) -> list[Finding]:
    """What people say about themselves in these messages, for the memory of each; a chat's memory gets none.

    A message that asks to be kept is kept whole already.
    """
    drafts = [draft for scoped in scopes if scoped.scope.kind == ScopeKind.USER for draft in _drafts(scoped)]
    drafts.sort(key=lambda draft: draft.at)
    if not drafts:
        return []
    around = FactsAround(drafts, named=())
    findings = []
    for n, draft in enumerate(drafts):
        if any(may_correct(later, draft) for later in drafts[n + 1 :]):
            continue
        pairs = [pair for pair in around.contradicted_by(draft, named=()) if pair.conflict is ConflictVerdict.CERTAIN]
        for pair in pairs:
            pair.reading = Reading.CONTRADICTED
        findings.append(Finding(draft, pairs))
    return findings


def _drafts(scoped: ScopeMessages) -> Iterator[Draft]:
    for item in scoped.messages:
        content = item.message.content
        if item.is_answer or asks_to_keep(content):
            continue
        for sentence in lasting_sentences(content):
            if MASKED not in sentence and (spans := find_quote(sentence, content)):
                yield _draft(scoped, item, sentence, spans[0])


def _draft(scoped: ScopeMessages, item: ScopedMessage, sentence: str, span: Span) -> Draft:
    message = item.message
    words = QuotedWords(
        origin=message.id,
        start=span.start,
        end=span.end,
        quote=span.text(message.content),
        at=message.at,
        speaker=item.speaker,
    )
    return Draft(
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
