"""Function words that decide what a query asks for: without "not" it asks for the opposite.

No variant loses one of them, and where one is, the words keep their order: it is about what follows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from searchmark.corpora.file_kinds import words

NEGATING: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "english": words(
            "no not nor neither never none without cannot except excluding but non don't doesn't isn't aren't can't won't"
        ),
        "dutch": words("niet niets geen zonder noch nooit behalve"),
        "french": words("pas non ne n ni sans aucun aucune jamais sauf"),
        "german": words("nicht nichts kein keine keinem keinen keiner keines ohne weder nie außer"),
        "italian": words("non né senza nessun nessuno nessuna mai tranne"),
        "portuguese": words("não nem sem nunca nenhum nenhuma exceto"),
        "spanish": words("no ni sin nada nunca ningún ninguna excepto salvo"),
    }
)
# What says on which side of something: a price, a date, a place, a change.
_COMPARING: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "english": words("under over above below before after until since between against than more most only off from into"),
        "dutch": words("onder over voor na tussen tegen tot dan meer alleen"),
        "french": words("sous sur avant depuis entre contre moins plus jusqu"),
        "german": words("unter über vor nach seit bis zwischen gegen nur"),
        "italian": words("prima dopo tra fra fino contro più"),
        "portuguese": words("sob sobre antes após até desde entre contra mais apenas só"),
        "spanish": words("bajo sobre antes tras hasta desde entre contra más solo sólo"),
    }
)
DECIDING: Mapping[str, frozenset[str]] = MappingProxyType({each: NEGATING[each] | _COMPARING[each] for each in NEGATING})
ANY_NEGATION = frozenset().union(*NEGATING.values())  # which language a query is in is not known everywhere
