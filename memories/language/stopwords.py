"""Words that say nothing about what a text is about."""

from memories.language.word_lists import word_set

ENGLISH = word_set("stopwords", "english")
CHINESE = word_set("stopwords", "chinese")
