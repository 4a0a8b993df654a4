"""The settings of a sweep: its file, every combination of choices, and their names."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, replace
from itertools import product
from math import prod
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, Lt

from searchmark.agents.registry import agent_class_of, is_code, named_spec, refuse_unavailable
from searchmark.agents.vectors import EMBEDDERS, INDEXES, embedder_settings, index_settings
from searchmark.agents.vectors.index import IndexSettings
from searchmark.config.agents import AgentSpec, BuiltInSource
from searchmark.config.permissions import sensitive_values
from searchmark.config.run import LARGEST_K
from searchmark.config.strict import STRICT, Positive, strict_record
from searchmark.errors import FormatError, UsageError
from searchmark.io.data import check_shape
from searchmark.io.paths import user_path
from searchmark.io.secrets import with_distinct_names, without_credentials, without_secrets
from searchmark.io.store import check_readable, read_utf8

# Which options of an index have an effect: those that its method ignores, or raises to the same value, make no other setting.

INDEX_NAME, REACH, PGVECTOR = "name", "ef_search", "pgvector"


@dataclass(frozen=True)
class EffectiveIndex:
    """An index as it is searched for so many vectors: as it was chosen, in full with its defaults, and what that changed."""

    chosen: Any
    in_full: Mapping[str, Any]
    notes: tuple[str, ...]


def effective_index(choice: Any, vector_count: int) -> EffectiveIndex:
    """A choice without what its method ignores, and with what it raises; that of a plug-in as it is."""
    description = {INDEX_NAME: choice} if isinstance(choice, str) else dict(choice)
    if INDEXES.plugin(choice) is not None:
        return EffectiveIndex(choice, description, ())
    options = index_settings(choice)
    ignored_keys, least = options.ignored(), options.least_candidates(vector_count)
    left_out = [key for key in description if key in ignored_keys]
    effective = {key: value for key, value in description.items() if key not in ignored_keys}
    whole = {
        INDEX_NAME: description[INDEX_NAME],
        **{key: value for key, value in asdict(options).items() if key not in ignored_keys},
    }
    notes = [f"{description[INDEX_NAME]} with method {whole['method']} has no use for {' and '.join(left_out)}"] if left_out else []
    if REACH in whole and whole[REACH] < least:
        if REACH in effective:
            notes.append(
                f"{REACH} {effective[REACH]} of {description[INDEX_NAME]} is raised to {least}, as many vectors as are asked for"
            )
            effective[REACH] = least
        whole[REACH] = least
    return EffectiveIndex(choice if isinstance(choice, str) else effective, whole, tuple(notes))


def exact_for(indexes: Sequence[Any], otherwise: str) -> Any:
    """What finds the true neighbours where these do: in the database if all are there, since no other search costs as much."""
    names = [each if isinstance(each, str) else each.get(INDEX_NAME) for each in indexes]
    if not names or any(name != PGVECTOR for name in names):
        return otherwise
    first = {} if isinstance(indexes[0], str) else indexes[0]
    return {INDEX_NAME: PGVECTOR, "method": "none", **{key: first[key] for key in ("dsn", "schema") if key in first}}


# What settings are called: their differences in few words, and nothing that is secret.

SEPARATOR = ", "

LONGEST = 100

NAME_KEY = "name"


def setting_names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """A different name for each; an option that is the same in all of them is in none, unless nothing else is left."""
    options = list(dict.fromkeys(name for each in settings for name in each))
    varied_options = [name for name in options if len({same_text(each.get(name)) for each in settings}) > 1] or options[:1]
    choices = {name: [each.get(name) for each in settings] for name in varied_options}
    return [str(name) for name in with_distinct_names(_name(each, choices) for each in settings)]


def _name(setting: Mapping[str, Any], choices: Mapping[str, Sequence[Any]]) -> str:
    names = [name for name in choices if name in setting] or list(setting)[:1]
    text = SEPARATOR.join(_choice_text(name, setting[name], choices.get(name, ())) for name in names)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _choice_text(name: str, value: Any, others: Sequence[Any]) -> str:
    if name == "normalize" and isinstance(value, bool):
        return "normalized" if value else "not normalized"
    if value is None:
        return "all fields" if name == "fields" else f"no {name}"
    record = _record(name, value)
    if record is not None:
        return _with_options(value, record, [each for each in others if _record(name, each) is record])
    if isinstance(value, Mapping):
        return f"{name} {_pairs(value)}"
    text = without_credentials(_plain_text(value))
    return text if isinstance(value, str) and name == "distance" else f"{name} {text}"


def _with_options(choice: Any, record: type, alike: Sequence[Any]) -> str:
    """``hnsw m=8``: every option that is not the default, or not that of a sibling; addresses, paths and keys stay out."""
    values = _with_defaults(choice, record)
    siblings = [_with_defaults(each, record) for each in alike]
    default = _with_defaults("", record)
    differing = [key for key in values if any(same_text(values[key]) != same_text(each.get(key)) for each in (default, *siblings))]
    choice_options = {key: value for key, value in choice.items() if key != NAME_KEY} if isinstance(choice, Mapping) else {}
    sensitive = {each.field for each in sensitive_values(record, choice_options) if each.kind.name != "MODEL"}
    ignored_keys = index_settings(choice).ignored() if issubclass(record, IndexSettings) else set()
    left_out = sensitive | ignored_keys
    options = _pairs({key: values[key] for key in differing if key not in left_out and values[key] is not None})
    return " ".join(filter(None, [without_credentials(_kind(choice)), options]))


def _pairs(options: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={_plain_text(value)}" for key, value in without_secrets(dict(options)).items())


def _kind(choice: Any) -> str:
    return str(choice.get(NAME_KEY) if isinstance(choice, Mapping) else choice)


def _record(name: str, choice: Any) -> type | None:
    """The options of an index or embedder of ours; None of any other choice."""
    part = INDEXES.ours(choice) if name == "index" else EMBEDDERS.ours(choice) if name == "embedder" else None
    return None if part is None else part.settings_class()


def _with_defaults(choice: Any, record: type) -> dict[str, Any]:
    """All options, those that are given over the defaults; one without a default may be missing."""
    defaults = {each.name: _default(each) for each in fields(record) if each.init}
    choice_options = {key: value for key, value in choice.items() if key != NAME_KEY} if isinstance(choice, Mapping) else {}
    return {key: value for key, value in {**defaults, **choice_options}.items() if value is not MISSING}


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _plain_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(_plain_text, value))
    return value if isinstance(value, str) else json.dumps(value, default=repr)


# The file that describes a sweep: which agent, which options are fixed, and which are varied.

_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")


@strict_record
class SweepSettings:
    """What is varied and what is fixed."""

    grid: dict[str, Any]  # the choices by name of an option of the agent; ``normalize`` is an option of its embedder
    agent: str = "semantic"
    options: dict[str, Any] = field(default_factory=dict)  # the same for every setting
    baseline: dict[str, Any] | None = None  # what all others are compared with; where it names nothing, the first choice
    measure: str = "nDCG@10"  # the one that decides
    measures: tuple[str, ...] = ()  # computed beside it
    margin: Annotated[float, Gt(0), Lt(1), STRICT] = 0.02  # a loss below it does not matter
    depth: Annotated[int, Ge(1), Le(LARGEST_K), STRICT] = 10  # hits that are asked for
    num_runs: Positive = 3  # searches per case


def load_sweep(path: str | PathLike[str]) -> SweepSettings:
    """Read a sweep file, YAML or JSON."""
    from pydantic import TypeAdapter

    from searchmark.io.data import parse_yaml

    file = user_path(path)
    check_readable(file)
    data = parse_yaml(file, read_utf8(file), numbers=True)
    if not isinstance(data, Mapping):
        raise FormatError(file, None, "is not a sweep file: it needs a mapping with 'grid', such as grid: {index: [exact, hnsw]}")
    _refuse_other_forms(file, data)
    return check_shape(file, TypeAdapter(SweepSettings), dict(data))


def _refuse_other_forms(file: Path, data: Mapping[str, Any]) -> None:
    """What is easily written in its stead, with the form that is right."""
    if "agents" in data and "grid" not in data:
        raise FormatError(file, None, "is an agents file; a sweep file has a grid, such as grid: {index: [exact, hnsw]}")
    baseline, margin = data.get("baseline"), data.get("margin")
    if isinstance(baseline, str):
        raise FormatError(file, "baseline", f"names choices by their options: write baseline: {{index: {baseline}}}")
    if isinstance(margin, str) and (percent := _PERCENT.fullmatch(margin)):
        raise FormatError(file, "margin", f"is a share: write {float(percent[1]) / 100:g} for {margin}")


# From choices to settings: every combination once, each with all options of the agent and a name.
#
# The choices for an option are a list. A choice that is described, ``{name: hnsw, m: [8, 16]}``, stands for every combination
# of the lists in it. The values of `fields` and `filter` are lists themselves, which are taken as they are:
# ``fields: [[title], [title, text]]``; null leaves them out.

FILTER = "filter"

LITERAL = ("fields", FILTER)

NORMALIZE, EMBEDDER, INDEX, EXACT = "normalize", "embedder", "index", "exact"


# What the vectors of an agent and their distances depend on, and so which ones are the true neighbours of a query.
VECTORS = (EMBEDDER, "model", "chunking", "fields", "filter", "paths", "distance", "dsn", "database", "table", "vector_column")

MOST_SETTINGS = 10_000


@dataclass(frozen=True)
class GridSetting:
    """One combination of choices."""

    name: str
    choices: Mapping[str, Any]
    spec: AgentSpec  # with the options; its name does not depend on the rest of the grid, so that a started row can be resumed
    in_full: Mapping[str, Any]  # the options with their defaults
    key: str  # a digest of these, so that the row is found again whatever else is in the grid
    vectors: str = ""  # the same for settings with the same vectors and distance, and so the same true neighbours
    is_baseline: bool = False
    added: bool = False  # the baseline, where the grid does not have it

    @property
    def options(self) -> Mapping[str, Any]:
        """What the agent is made with."""
        return self.spec.config


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

    def without_agent_name(self, sentence: str, setting: GridSetting) -> str:
        """A reason without the name that the agent has for us alone."""
        return sentence.replace(setting.spec.name, self.agent.name)


def grid_of(config: SweepSettings) -> Grid:
    """Every setting that the file describes; what no setting could mean is refused."""
    shape = _Shape.of(config)
    choices = {name: _choices(name, value) for name, value in config.grid.items()}
    if not choices:
        raise UsageError("the grid has no option to vary; add one, such as grid: {index: [exact, hnsw]}")
    shape.check(choices, config)
    size = prod(map(len, choices.values()))
    if size > MOST_SETTINGS:
        raise UsageError(f"the grid has {size} combinations, and at most {MOST_SETTINGS} are run; vary fewer options at a time")
    combinations = [dict(zip(choices, each, strict=True)) for each in product(*choices.values())]
    effective_choices = list(map(shape.effective, combinations))
    choices_by_key = {shape.key(each): each for each in reversed(effective_choices)}  # the first of equal ones stays
    keys = list(dict.fromkeys(map(shape.key, effective_choices)))
    base = shape.effective(shape.baseline(choices, config.baseline))
    base_key = shape.key(base)
    added = base_key not in choices_by_key
    if added:
        choices_by_key, keys = {base_key: base, **choices_by_key}, [base_key, *keys]
    names = setting_names([choices_by_key[key] for key in keys])
    settings = tuple(
        shape.setting(name, choices_by_key[key], is_baseline=key == base_key, added=added and key == base_key)
        for name, key in zip(names, keys, strict=True)
    )
    notes = dict.fromkeys(note for each in combinations if shape.has_index(each) for note in shape.index(each).notes)
    return Grid(shape.spec, settings, len(effective_choices) - len(keys) + added, tuple(notes))


def _choices(name: str, value: Any) -> list[Any]:
    """All choices for one option, described ones expanded."""
    choices = value if isinstance(value, list) else [value]
    if not choices:
        raise UsageError(f"grid.{name} has no choice; list one at least, or leave it out")
    if name in LITERAL:
        return [_literal(name, each) for each in choices]
    return [each for choice in choices for each in _expand_choice(name, choice)]


def _literal(name: str, choice: Any) -> Any:
    if name == "fields" and not (choice is None or isinstance(choice, list)):
        raise UsageError(f"each choice for grid.fields is a list of fields, not {choice!r}: write fields: [[title], [title, text]]")
    if name == "filter" and not (choice is None or isinstance(choice, Mapping)):
        raise UsageError(f"each choice for grid.filter is a mapping or null, not {choice!r}: write filter: [null, {{brand: acme}}]")
    return choice


def _expand_choice(name: str, choice: Any) -> list[Any]:
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
    fixed_options: Mapping[str, Any]
    defaults: Mapping[str, Any] | None
    depth: int

    @classmethod
    def of(cls, config: SweepSettings) -> _Shape:
        spec = named_spec(config.agent, ())
        refuse_unavailable(spec.source)
        if is_code(spec.source):
            raise UsageError(f"the agent of a sweep is a built-in one or one of a plug-in, not code: {config.agent}")
        return cls(spec, config.options, _defaults(spec), config.depth)

    def check(self, choices: Mapping[str, Sequence[Any]], config: SweepSettings) -> None:
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
        if (
            self.defaults is None
            or name in self.defaults
            or (name == NORMALIZE and section != "options" and EMBEDDER in self.defaults)
        ):
            return
        raise UsageError(f"{section}.{name}: {self.spec.name} has no such option; it has {', '.join(sorted(self.defaults))}")

    def baseline(self, choices: Mapping[str, Sequence[Any]], overrides: Mapping[str, Any] | None) -> dict[str, Any]:
        """What the file names over the first choices; with an exact index, which the agent must have, unless it names one."""
        first = {name: each[0] for name, each in choices.items()}
        if overrides is not None and (INDEX in overrides or INDEX not in (self.defaults or {})):
            return {**first, **overrides}
        if self.defaults is None or INDEX not in self.defaults:
            raise UsageError(
                f"{self.spec.name} has no exact index that settings could be held against; name the setting that they are held "
                f"against, such as baseline: {{{_example(choices)}}}"
            )
        exact = exact_for(choices.get(INDEX) or [self.fixed_options.get(INDEX, EXACT)], EXACT)
        return {INDEX: exact} | first | {INDEX: exact} | dict(overrides or {})

    def index(self, choices: Mapping[str, Any]) -> EffectiveIndex:
        """The index of a setting, as it is asked for so many vectors."""
        whole = {**(self.defaults or {}), **self.options(choices)}
        return effective_index(whole[INDEX], whole.get("candidates") or min(self.depth, whole.get("top_k") or self.depth))

    def has_index(self, choices: Mapping[str, Any]) -> bool:
        return INDEX in choices or INDEX in self.fixed_options or INDEX in (self.defaults or {})

    def effective(self, choices: Mapping[str, Any]) -> dict[str, Any]:
        """The choices without what has no effect."""
        return {**choices, INDEX: self.index(choices).chosen} if INDEX in choices else dict(choices)

    def options(self, choices: Mapping[str, Any]) -> dict[str, Any]:
        """What the agent is made with."""
        left_out = (NORMALIZE, *(name for name in LITERAL if choices.get(name) is None))
        varied_options = {name: value for name, value in choices.items() if name not in left_out}
        options = {**self.fixed_options, **varied_options}
        if NORMALIZE not in choices:
            return options
        embedder = options.get(EMBEDDER, (self.defaults or {}).get(EMBEDDER, "wordllama"))
        description = {"name": embedder} if isinstance(embedder, str) else dict(embedder)
        return {**options, EMBEDDER: {**description, NORMALIZE: choices[NORMALIZE]}}

    def setting(self, name: str, choices: Mapping[str, Any], *, is_baseline: bool, added: bool) -> GridSetting:
        in_full, key = self._in_full(choices), self.key(choices)
        spec = replace(self.spec, name=f"{self.spec.name}-{key}", config=self.options(choices))
        vectors = short_digest({each: in_full.get(each) for each in VECTORS})
        return GridSetting(name, choices, spec, in_full, key, vectors, is_baseline, added)

    def key(self, choices: Mapping[str, Any]) -> str:
        """The same for what means the same: defaults are written out."""
        return short_digest([self.spec.source.text, self._in_full(choices)])

    def _in_full(self, choices: Mapping[str, Any]) -> dict[str, Any]:
        whole = {**(self.defaults or {}), **self.options(choices)}
        if INDEX in whole:
            whole[INDEX] = self.index(choices).in_full
        if EMBEDDER in whole:
            whole[EMBEDDER] = embedder_with_defaults(whole[EMBEDDER])
        if FILTER in (self.defaults or {}):
            whole[FILTER] = _normalize_filter(whole[FILTER])
        return whole


def same_text(value: Any) -> str:
    """The same for what means the same, whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, default=repr)


def short_digest(value: Any) -> str:
    return hashlib.sha256(same_text(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _normalize_filter(choice: Any) -> Any:
    """A filter with a list for each field, in which neither order nor repetition means anything."""
    if not isinstance(choice, Mapping):
        return {}
    values = {name: value if isinstance(value, list | tuple) else [value] for name, value in choice.items()}
    return {name: sorted({json.dumps(each, default=repr) for each in field_values}) for name, field_values in values.items()}


def embedder_with_defaults(choice: Any) -> Any:
    """An embedder with its options, defaults included."""
    described = {"name": choice} if isinstance(choice, str) else dict(choice)
    return described if EMBEDDERS.plugin(choice) is not None else {"name": described["name"], **asdict(embedder_settings(choice))}


def _check_described(section: str, index: Any, embedder: Any) -> None:
    """Described choices are checked before anything is run; whether they fit together is known to the agent."""
    for name, choice, parts in ((INDEX, index, INDEXES), (EMBEDDER, embedder, EMBEDDERS)):
        if choice is None or parts.plugin(choice) is not None:
            continue
        if not isinstance(choice, str | Mapping):
            raise UsageError(f"{section}.{name}: a choice is a name or {{name: ..., option: ...}}, not {choice!r}")
        try:
            parts.settings(choice)
        except UsageError as error:
            raise UsageError(f"{section}.{name}: {error}") from None


def _example(choices: Mapping[str, Sequence[Any]]) -> str:
    """The last choice of an option, which is often the most thorough one."""
    name, values = next(iter(choices.items()))
    return f"{name}: {without_credentials(str(values[-1])) if isinstance(values[-1], str | int | float) else '...'}"


def _defaults(spec: AgentSpec) -> dict[str, Any] | None:
    """The options of a built-in agent with their defaults; None of others, whose code runs in a worker alone."""
    shape = getattr(agent_class_of(spec), "Config", None) if isinstance(spec.source, BuiltInSource) else None
    if shape is None:
        return None
    config = shape()
    return {each.name: getattr(config, each.name) for each in fields(shape)}
