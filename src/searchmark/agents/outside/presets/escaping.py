"""Queries in which nothing is left for an engine to interpret: a query of a suite is text, whatever is in it."""

from __future__ import annotations

import json
import re

from searchmark.errors import UsageError

_LUCENE = re.compile(r'[\\+\-!():^\[\]"{}~*?|&;/]')
_LUCENE_WORDS = re.compile(r"(?<!\S)(AND|OR|NOT)(?!\S)")
_GROONGA = re.compile(r'[\\"()+\-><~*:]')
_GROONGA_WORDS = re.compile(r"(?<!\S)OR(?!\S)")
_QUOTES_AND_MINUS = re.compile(r'"|(?<!\S)-+')


def escaped_for_lucene(query: str) -> str:
    """With a backslash before every character and word that Lucene's syntax knows, as Solr's own client does it."""
    return _LUCENE_WORDS.sub(r"\\\1", _LUCENE.sub(r"\\\g<0>", query))


def escaped_for_groonga(query: str) -> str:
    """With a backslash before every character and word that Groonga's query syntax knows."""
    return _GROONGA_WORDS.sub(r"\\OR", _GROONGA.sub(r"\\\g<0>", query))


def without_operators(query: str) -> str:
    """For engines that know quotes and a minus before a word, and no way to escape them; to their tokenizers both are blanks."""
    left = _QUOTES_AND_MINUS.sub(" ", query)
    if left.strip() in ("", "*"):
        raise UsageError(f"the query {query!r} has no word to search for, and the engine would return all documents")
    return left


def quoted_for_graphql(query: str) -> str:
    """As a string of GraphQL, quotes included."""
    return json.dumps(query, ensure_ascii=False)


def quoted_for_fts5(query: str) -> str:
    """Every word as a string of SQLite's full text; Datasette's own ``escape_fts`` makes quotes with nothing in them an error."""
    doubled = (word.replace('"', '""') for word in query.split())
    return " ".join(f'"{word}"' for word in doubled)
