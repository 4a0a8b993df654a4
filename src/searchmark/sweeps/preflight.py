"""What can be known before the first row is run: which settings cannot be, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.agents.source import BuiltIn
from searchmark.corpora.claimed_repositories import claims_repositories
from searchmark.corpora.corpus import Corpus, corpus_of, opened
from searchmark.corpora.selection import DocumentSelection
from searchmark.embedders import check_embedder
from searchmark.errors import SearchmarkError, UsageError
from searchmark.indexes import check_index
from searchmark.registry.checking import check_spec, searches_own_corpus
from searchmark.registry.making import made
from searchmark.services.variables import DEFAULT_DSN, DSN_VARIABLE, variable_value, variables_in
from searchmark.sweeps.grid import EMBEDDER, INDEX, spec_of_setting
from searchmark.sweeps.running import SweepRequest, own_words


def refused_settings(request: SweepRequest) -> dict[str, str]:
    """By key of a setting why it cannot be run; nothing is started or loaded to know that."""
    found: dict[str, str] = {}
    selections = _SelectionCheck(request)
    for setting in request.grid.settings:
        spec = spec_of_setting(request.grid, setting)
        try:
            check_spec(spec, network=request.options.network)
            if isinstance(spec.source, BuiltIn):
                made(spec)
                _check_parts({**_defaults(spec), **setting.options})
                selections.check(setting.options)
        except SearchmarkError as error:
            found[setting.key] = own_words(str(error), request.grid, setting)
    return found


def refuse_nothing_to_search(request: SweepRequest) -> None:
    """One sentence in place of one for every row."""
    if request.where.corpus is not None or request.suite.table.documents is not None or claims_repositories(request.suite):
        return
    if searches_own_corpus(spec_of_setting(request.grid, request.grid.baseline)) is False:
        raise UsageError("there is nothing to search: the suite has no documents of its own; name them with --corpus")


def _defaults(spec: AgentSpec) -> dict[str, Any]:
    from searchmark.registry import agent_class_of

    shape = getattr(agent_class_of(spec), "Config", None)
    return {} if shape is None else {name: getattr(shape, name) for name in (EMBEDDER, INDEX) if hasattr(shape, name)}


def _check_parts(options: Mapping[str, Any]) -> None:
    """What the embedder and the index need on this machine: packages, and a database that is named."""
    if EMBEDDER in options and options.get("model") is None:
        problem = getattr(import_module(type(check_embedder(options[EMBEDDER])).__module__), "problem", None)
        why = None if problem is None else problem()
        if why is not None:
            raise UsageError(why)
    if INDEX in options:
        _check_database(asdict(check_index(options[INDEX])).get("dsn"))


def _check_database(dsn: str | None) -> None:
    if dsn is None:
        return
    if find_spec("psycopg") is None:
        raise UsageError("psycopg is not installed; install: pip install 'searchmark[postgres]'")
    try:
        for name in variables_in(dsn):
            variable_value(name)
    except UsageError:
        if dsn != DEFAULT_DSN:
            raise
        raise UsageError(f"no database is named: give --dsn, set {DSN_VARIABLE}, or add dsn to the index") from None


class _SelectionCheck:
    """Whether documents have the fields and values that settings select; each selection is looked for once."""

    def __init__(self, request: SweepRequest) -> None:
        self._request = request
        self._corpus: Corpus | None = None
        self._known: dict[str, SearchmarkError | None] = {}

    def check(self, options: Mapping[str, Any]) -> None:
        fields, filters = options.get("fields"), options.get("filter") or {}
        if fields is None and not filters:
            return
        key = json.dumps([fields, filters], sort_keys=True, default=repr)
        if key not in self._known:
            self._known[key] = self._why_not(DocumentSelection.of(fields, filters))
        error = self._known[key]
        if error is not None:
            raise error

    def _why_not(self, selection: DocumentSelection) -> SearchmarkError | None:
        if self._corpus is None:
            self._corpus = self._opened()
        try:
            if self._corpus is not None:
                selection.corpus(self._corpus)
        except SearchmarkError as error:
            return error
        return None

    def _opened(self) -> Corpus | None:
        where, suite = self._request.where, self._request.suite
        if where.corpus is not None:
            return opened(where)
        return None if suite.table.documents is None else corpus_of(suite)
