"""English nouns in the other number, by their endings; the commonest irregular ones are listed."""

from __future__ import annotations

import re

_IRREGULAR = {
    "child": "children", "person": "people", "man": "men", "woman": "women", "foot": "feet", "tooth": "teeth", "mouse": "mice",
    "goose": "geese", "half": "halves", "knife": "knives", "life": "lives", "leaf": "leaves", "shelf": "shelves",
    "wife": "wives", "index": "indexes", "vertex": "vertices", "matrix": "matrices", "analysis": "analyses", "basis": "bases",
    "criterion": "criteria", "hypothesis": "hypotheses", "axis": "axes", "bus": "buses", "status": "statuses",
    "alias": "aliases", "canvas": "canvases", "virus": "viruses", "bonus": "bonuses", "focus": "focuses", "corpus": "corpora",
}  # fmt: skip
_SINGULAR = {plural: singular for singular, plural in _IRREGULAR.items()}
# Words that end like a plural, or have none.
_ALWAYS_ALIKE = frozenset(
    {
        "series", "species", "news", "always", "perhaps", "plus", "minus", "less", "across", "lens", "gas", "is", "was",
        "has", "this", "as", "us", "yes", "its", "jeans", "pants", "trousers", "shorts", "glasses", "scissors", "headphones",
        "sheep", "fish", "information", "software", "hardware", "equipment", "clothing", "jewelry", "jewellery", "data",
    }
)  # fmt: skip
_NO_NOUN = re.compile(r"(?:ing|ed|ly|ize|ise|ify|able|ible|ful|ous|est|less)\Z")
FEWEST_LETTERS = 3


def other_number(word: str) -> str | None:
    """The plural of a singular and the singular of a plural; None for what has no other number, or does not look like a noun."""
    lowered = word.lower()
    if not (word.isascii() and word.isalpha()) or len(word) < FEWEST_LETTERS or lowered in _ALWAYS_ALIKE:
        return None
    if word[1:] != lowered[1:] or _NO_NOUN.search(lowered):
        return None  # an abbreviation or an identifier; a verb, adjective or adverb
    changed = _IRREGULAR.get(lowered) or _SINGULAR.get(lowered) or _regular(lowered)
    return changed[:1].upper() + changed[1:] if word[0].isupper() else changed


def is_singular(word: str) -> bool:
    """Whether a word is written as one of a thing."""
    return word.lower() in _IRREGULAR or not (word.lower() in _SINGULAR or _ends_as_plural(word.lower()))


def _ends_as_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _regular(word: str) -> str:
    if _ends_as_plural(word):
        if word.endswith("ies") and len(word) > len("ties"):
            return f"{word[:-3]}y"
        if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
            return word[:-2]
        return word[:-1]
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "sh", "ch", "x", "z")) else f"{word}s"
