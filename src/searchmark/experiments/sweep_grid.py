"""From choices to settings: every combination once, each with all options of the agent and a name.

The choices for an option are a list. A choice that is described, ``{name: hnsw, m: [8, 16]}``, stands for every combination of
the lists in it. `fields` and `filter` have lists of their own, which are taken as they are: ``fields: [[title], [title, text]]``;
null leaves them out.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.agents.source import BuiltIn
from searchmark.embedders import check_embedder
from searchmark.errors import UsageError
from searchmark.indexes import check_index
from searchmark.registry import agent_class_of, named_spec
from searchmark.registry.checking import is_code
from searchmark.registry.known import refuse_unavailable
from searchmark.services.secret_forms import without_credentials
from searchmark.sweeps.effective import EffectiveIndex, effective_index, exact_for
from searchmark.sweeps.setting_names import setting_names
from searchmark.sweeps.sweep_config import SweepConfig

FILTER = "filter"
LITERAL = ("fields", FILTER)
NORMALIZE, EMBEDDER, INDEX, EXACT = "normalize", "embedder", "index", "exact"
# What the vectors of an agent and their distances depend on, and so which ones are the true neighbours of a query.
VECTORS = (EMBEDDER, "model", "chunking", "fields", "filter", "paths", "distance", "dsn", "database", "table", "vector_column")
MOST_SETTINGS = 10_000


@dataclass(frozen=True)
class GridSetting:
    """One combination of choices. ``key`` tells it from every other one, whatever else is in the grid.

    ``vectors`` is the same for settings that search the same vectors by the same distance, and so have the same true neighbours.
    """

    name: str
    choices: Mapping[str, Any]
    options: Mapping[str, Any]
    key: str
    vectors: str = ""
    is_baseline: bool = False
    added: bool = False


@dataclass(frozen=True)
class Grid:
    """All settings, in the order of the file, how many combinations were duplicates of others, and which values have no effect."""

    agent: AgentSpec
    settings: tuple[GridSetting, ...]
    duplicates: int
    notes: tuple[str, ...] = ()

    @property
    def baseline(self) -> GridSetting:
        return next(each for each in self.settings if each.is_baseline)


def grid_of(config: SweepConfig) -> Grid:
    """Every setting that the file describes; what no setting could mean is refused."""
    shape = _Shape.of(config)
    choices = {name: _choices(name, value) for name, value in config.grid.items()}
    if not choices:
        raise UsageError("the grid has no option to vary; add one, such as grid: {index: [exact, hnsw]}")
    shape.check(choices, config)
    size = _size(choices.values())
    if size > MOST_SETTINGS:
        raise UsageError(f"the grid has {size} combinations, and at most {MOST_SETTINGS} are run; vary fewer options at a time")
    written = [dict(zip(choices, each, strict=True)) for each in product(*choices.values())]
    combined = list(map(shape.effective, written))
    found = {shape.key(each): each for each in reversed(combined)}  # the first of equal ones stays
    keys = list(dict.fromkeys(map(shape.key, combined)))
    base = shape.effective(shape.baseline(choices, config.baseline))
    base_key = shape.key(base)
    added = base_key not in found
    if added:
        found, keys = {base_key: base, **found}, [base_key, *keys]
    names = setting_names([found[key] for key in keys])
    settings = tuple(
        shape.setting(name, found[key], is_baseline=key == base_key, added=added and key == base_key)
        for name, key in zip(names, keys, strict=True)
    )
    notes = dict.fromkeys(note for each in written if shape.has_index(each) for note in shape.index(each).notes)
    return Grid(shape.spec, settings, len(combined) - len(keys) + added, tuple(notes))


def _size(choices: Iterable[Sequence[Any]]) -> int:
    size = 1
    for each in choices:
        size *= len(each)
    return size


def _choices(name: str, value: Any) -> list[Any]:
    """All choices for one option, described ones expanded."""
    listed = value if isinstance(value, list) else [value]
    if not listed:
        raise UsageError(f"grid.{name} has no choice; list one at least, or leave it out")
    if name in LITERAL:
        return [_literal(name, each) for each in listed]
    return [each for choice in listed for each in _expanded(name, choice)]


def _literal(name: str, choice: Any) -> Any:
    if name == "fields" and not (choice is None or isinstance(choice, list)):
        raise UsageError(f"each choice for grid.fields is a list of fields, not {choice!r}: write fields: [[title], [title, text]]")
    if name == "filter" and not (choice is None or isinstance(choice, Mapping)):
        raise UsageError(f"each choice for grid.filter is a mapping or null, not {choice!r}: write filter: [null, {{brand: acme}}]")
    return choice


def _expanded(name: str, choice: Any) -> list[Any]:
    if isinstance(choice, list):
        raise UsageError(f"a choice for grid.{name} is a list inside a list; write its entries one level higher")
    if not isinstance(choice, Mapping):
        return [choice]
    parts = [value if isinstance(value, list) else [value] for value in choice.values()]
    empty = next((key for key, part in zip(choice, parts, strict=True) if not part), None)
    if empty is not None:
        raise UsageError(f"grid.{name}: {empty} has an empty list; list one value at least, or leave it out")
    return [dict(zip(choice, each, strict=True)) for each in product(*parts)]


@dataclass(frozen=True)
class _Shape:
    """The agent whose options are varied, and the defaults of the options that it is known to take."""

    spec: AgentSpec
    fixed: Mapping[str, Any]
    known: Mapping[str, Any] | None
    depth: int

    @classmethod
    def of(cls, config: SweepConfig) -> _Shape:
        spec = named_spec(config.agent, ())
        refuse_unavailable(spec.source)
        if is_code(spec.source):
            raise UsageError(f"the agent of a sweep is a built-in one or one of a plug-in, not code: {config.agent}")
        return cls(spec, config.options, _defaults(spec), config.depth)

    def check(self, choices: Mapping[str, Sequence[Any]], config: SweepConfig) -> None:
        for section, names in (("options", config.options), ("grid", choices), ("baseline", config.baseline or {})):
            for name in names:
                self._check_name(section, name)
        twice = next((name for name in choices if name in config.options), None)
        if twice is not None:
            raise UsageError(f"{twice} is both in options and in grid; leave it out of one of them")
        for section, each in (("options", config.options), ("baseline", config.baseline or {})):
            _check_described(section, each.get(INDEX), each.get(EMBEDDER))
        for index in choices.get(INDEX, ()):
            _check_described("grid", index, None)
        for embedder in choices.get(EMBEDDER, ()):
            _check_described("grid", None, embedder)
            if NORMALIZE in choices and isinstance(embedder, Mapping) and NORMALIZE in embedder:
                raise UsageError("normalize is both in grid and in the description of an embedder; leave it out of one of them")

    def _check_name(self, section: str, name: str) -> None:
        if self.known is None or name in self.known or (name == NORMALIZE and section != "options" and EMBEDDER in self.known):
            return
        raise UsageError(f"{section}.{name}: {self.spec.name} has no such option; it has {', '.join(sorted(self.known))}")

    def baseline(self, choices: Mapping[str, Sequence[Any]], named: Mapping[str, Any] | None) -> dict[str, Any]:
        """What the file names over the first choices; with an exact index, which the agent must have, unless it names one."""
        first = {name: each[0] for name, each in choices.items()}
        if named is not None and (INDEX in named or INDEX not in (self.known or {})):
            return {**first, **named}
        if self.known is None or INDEX not in self.known:
            raise UsageError(
                f"{self.spec.name} has no exact index that settings could be held against; name the setting that they are held "
                f"against, such as baseline: {{{_example(choices)}}}"
            )
        exact = exact_for(choices.get(INDEX) or [self.fixed.get(INDEX, EXACT)], EXACT)
        return {INDEX: exact} | first | {INDEX: exact} | dict(named or {})

    def index(self, choices: Mapping[str, Any]) -> EffectiveIndex:
        """The index of a setting, as it is asked for so many vectors."""
        whole = {**(self.known or {}), **self.options(choices)}
        return effective_index(whole[INDEX], whole.get("candidates") or min(self.depth, whole.get("top_k") or self.depth))

    def has_index(self, choices: Mapping[str, Any]) -> bool:
        return INDEX in choices or INDEX in self.fixed or INDEX in (self.known or {})

    def effective(self, choices: Mapping[str, Any]) -> dict[str, Any]:
        """The choices without what has no effect."""
        return {**choices, INDEX: self.index(choices).chosen} if INDEX in choices else dict(choices)

    def options(self, choices: Mapping[str, Any]) -> dict[str, Any]:
        """What the agent is made with."""
        left_out = (NORMALIZE, *(name for name in LITERAL if choices.get(name) is None))
        chosen = {name: value for name, value in choices.items() if name not in left_out}
        made = {**self.fixed, **chosen}
        if NORMALIZE not in choices:
            return made
        embedder = made.get(EMBEDDER, (self.known or {}).get(EMBEDDER, "wordllama"))
        described = {"name": embedder} if isinstance(embedder, str) else dict(embedder)
        return {**made, EMBEDDER: {**described, NORMALIZE: choices[NORMALIZE]}}

    def setting(self, name: str, choices: Mapping[str, Any], *, is_baseline: bool, added: bool) -> GridSetting:
        whole = self._whole(choices)
        vectors = _digest({each: whole.get(each) for each in VECTORS})
        return GridSetting(name, choices, self.options(choices), self.key(choices), vectors, is_baseline, added)

    def key(self, choices: Mapping[str, Any]) -> str:
        """The same for what means the same: defaults are written out."""
        return _digest([self.spec.source.text, self._whole(choices)])

    def _whole(self, choices: Mapping[str, Any]) -> dict[str, Any]:
        whole = {**(self.known or {}), **self.options(choices)}
        if INDEX in whole:
            whole[INDEX] = self.index(choices).in_full
        if EMBEDDER in whole:
            whole[EMBEDDER] = embedder_in_full(whole[EMBEDDER])
        if FILTER in (self.known or {}):
            whole[FILTER] = _filter_in_full(whole[FILTER])
        return whole


def _digest(what: Any) -> str:
    text = json.dumps(what, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _filter_in_full(choice: Any) -> Any:
    """A filter with a list for each field, in which neither order nor repetition means anything."""
    if not isinstance(choice, Mapping):
        return {}
    values = {name: value if isinstance(value, list | tuple) else [value] for name, value in choice.items()}
    return {name: sorted({json.dumps(each, default=repr) for each in listed}) for name, listed in values.items()}


def embedder_in_full(choice: Any) -> Any:
    """An embedder with its options, defaults included."""
    return {"name": choice if isinstance(choice, str) else choice["name"], **asdict(check_embedder(choice))}


def _check_described(section: str, index: Any, embedder: Any) -> None:
    """Described choices are checked before anything is run; whether they fit together is known to the agent."""
    for name, choice, check in ((INDEX, index, check_index), (EMBEDDER, embedder, check_embedder)):
        if choice is None:
            continue
        if not isinstance(choice, str | Mapping):
            raise UsageError(f"{section}.{name}: a choice is a name or {{name: ..., option: ...}}, not {choice!r}")
        try:
            check(choice)
        except UsageError as error:
            raise UsageError(f"{section}.{name}: {error}") from None


def _example(choices: Mapping[str, Sequence[Any]]) -> str:
    """The last choice of an option, which is often the most thorough one."""
    name, values = next(iter(choices.items()))
    return f"{name}: {without_credentials(str(values[-1])) if isinstance(values[-1], str | int | float) else '...'}"


def _defaults(spec: AgentSpec) -> dict[str, Any] | None:
    """The options of a built-in agent with their defaults; None of others, whose code runs in a worker alone."""
    shape = getattr(agent_class_of(spec), "Config", None) if isinstance(spec.source, BuiltIn) else None
    if shape is None:
        return None
    made = shape()
    return {each.name: getattr(made, each.name) for each in fields(shape)}


def varied(settings: Sequence[GridSetting], name: str) -> bool:
    """Whether settings differ in one of their options."""
    return len(Counter(json.dumps(each.options.get(name), sort_keys=True, default=repr) for each in settings)) > 1


def spec_of_setting(grid: Grid, setting: GridSetting) -> AgentSpec:
    """The agent of one setting. Its name does not depend on the rest of the grid, so that a started row can be resumed."""
    return replace(grid.agent, name=f"{grid.agent.name}-{setting.key}", config=dict(setting.options))
