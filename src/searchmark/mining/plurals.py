"""One word for singular and plural, so that "parsers" gives ``parser.py`` away. English, by ending, and no dictionary."""

from __future__ import annotations

from functools import lru_cache

from searchmark.corpora.file_kinds import words

_SHORTEST = 4  # letters of a plural: "its", "has" and "was" are none
_NO_PLURALS = words("this does news windows https always perhaps less series species canvas alias bias pandas axios")
_ODD = {
    "aliases": "alias", "biases": "bias", "statuses": "status", "buses": "bus", "indices": "index", "indexes": "index",
    "vertices": "vertex", "matrices": "matrix", "children": "child", "criteria": "criterion", "analyses": "analysis",
}  # fmt: skip
_AS_IT_IS = ("ss", "us", "is")
_HISSING = ("ch", "sh", "x", "z", "ss")


@lru_cache(maxsize=20_000)
def singular(word: str) -> str:
    """A word in lower case as singular; "cache" and "caches" become the same, which need not be a word."""
    if word in _NO_PLURALS or len(word) < _SHORTEST:
        return word
    if word in _ODD:
        return _ODD[word]
    if word.endswith("ies") and len(word) > _SHORTEST:
        return f"{word[:-3]}y"
    bare = word[:-1] if word.endswith("s") and not word.endswith(_AS_IT_IS) else word
    # "matches" is of "match" and "caches" of "cache": without the e both are found.
    return bare[:-1] if bare.endswith("e") and bare[:-1].endswith(_HISSING) else bare
