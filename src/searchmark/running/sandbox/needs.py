"""What an agent needs beside its code and the corpus: the network, environment variables, files that its config names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentSpec, nested_options
from searchmark.agents.outside.needs import asks_service, databases, filled_variables, program_files
from searchmark.agents.source import BuiltIn, Http
from searchmark.embedders.openai import OPENAI, OPENAI_KEY
from searchmark.errors import UsageError
from searchmark.options.sensitive import Sensitive, SensitiveValue, nested_values
from searchmark.registry import with_arms
from searchmark.services.own_keys import key_variable_for
from searchmark.services.postgres import is_reached_by_socket

_FILES = ("vectors", "ids", "queries", "model", "database")  # files that an agent reads; others it makes
_INDEX = "index_file"
_KEY = "key_variable"


@dataclass(frozen=True)
class Needs:
    """What an agent and its arms may use in addition."""

    network: bool
    variables: frozenset[str]
    files: tuple[Path, ...]


def is_foreign(spec: AgentSpec) -> bool:
    """Whether an agent, or one that it asks, runs code here that is not ours."""
    return any(each.source.runs_code for each in with_arms(spec))


def caches_vectors(spec: AgentSpec) -> bool:
    """Whether an agent, or one that it asks, embeds a corpus and keeps its vectors on disk, batch by batch."""
    return any(_has_cache(each.config) for each in with_arms(spec) if each.source == BuiltIn("semantic"))


def _has_cache(config: Mapping[str, Any]) -> bool:
    from searchmark.agents.semantic_options import SemanticConfig
    from searchmark.embedders import check_embedder

    return config.get("model") is not None or check_embedder(config.get("embedder", SemanticConfig().embedder)).cache


def needs_of(spec: AgentSpec) -> Needs:
    """What the spec allows, and what the config of an agent of ours means: a service is asked through the network."""
    specs = list(with_arms(spec))
    ours = [value for each in specs if isinstance(each.source, BuiltIn | Http) for value in _reaching_out(each)]
    addresses = [value for value in ours if value.kind is Sensitive.ADDRESS]
    keys = {value.field: str(value.value) for value in ours if value.kind is Sensitive.KEY_VARIABLE}
    named = {name for each in specs for name in (*each.env, *_named_key(each))}
    return Needs(
        network=bool(addresses) or any(each.network or asks_service(each) or databases(each) for each in specs),
        variables=frozenset(named.union(keys.values(), _default_keys(addresses, keys), *map(filled_variables, specs))),
        files=(
            *dict.fromkeys(path for value in ours for path in _files(value)),
            *(path for each in specs for path in program_files(each)),
        ),
    )


def _reaching_out(spec: AgentSpec) -> Iterator[SensitiveValue]:
    """By the types of the fields: whatever a filter or a text holds, it is a value and describes nothing."""
    nested = nested_options(spec)
    return nested_values(replace(nested, below=f"{spec.name}.{nested.below}"))


def _named_key(spec: AgentSpec) -> Iterator[str]:
    """What the options of an agent mean that is not ours is known to its code alone, but for this one."""
    key = spec.config.get(_KEY)
    if isinstance(key, str) and key and not isinstance(spec.source, BuiltIn):
        yield key


def _default_keys(addresses: Iterable[SensitiveValue], keys: Mapping[str, str]) -> Iterator[str]:
    """The variables whose keys go to their own service, where none is named beside its address."""
    for each in addresses:
        key = key_variable_for(str(each.value), keys.get(f"{each.field.rpartition('.')[0]}.{_KEY}"), OPENAI, OPENAI_KEY)
        if key is not None:
            yield key


def _files(found: SensitiveValue) -> Iterator[Path]:
    name = found.field.rpartition(".")[2]
    if found.kind not in (Sensitive.PATH, Sensitive.MODEL) or name not in _FILES:
        return
    path = Path(os.path.expanduser(str(found.value))).absolute()  # noqa: PTH111  # a user that does not exist is no error
    beside = (path.with_suffix(".json"),) if name == "vectors" else ()  # the ids of an array lie beside it
    yield from (each for each in (path, *beside) if each.exists())


def saved_index(spec: AgentSpec) -> Iterator[Path]:
    """The files that keep the vectors of a corpus; a sandboxed agent reads one, and cannot make it."""
    ours = [value for each in with_arms(spec) if isinstance(each.source, BuiltIn) for value in _reaching_out(each)]
    for value in ours:
        if value.kind is Sensitive.WRITTEN_FILE and value.given and value.value is not None:
            raise UsageError(
                f"the index exact writes its vectors to a file ({value.value}), which a sandboxed agent cannot; set memory_mb"
            )
        if value.kind is Sensitive.PATH and value.field.rpartition(".")[2] == _INDEX:
            path = Path(str(value.value)).absolute()
            if not path.exists():
                raise UsageError(f"{path} does not exist, and a sandboxed agent cannot make it; make it without --sandbox first")
            yield path


def refuse_sockets(spec: AgentSpec) -> None:
    """Refuse a database that no sandbox lets an agent reach: that of a Unix socket, which is a file outside."""
    if any(is_reached_by_socket(dsn) for each in with_arms(spec) for dsn in databases(each)):
        raise UsageError(
            f"the agent {spec.name!r} asks PostgreSQL by a Unix socket, and a sandboxed agent reaches it by TCP only; "
            "name a host in dsn, as in postgresql://USER@127.0.0.1:5432/NAME"
        )


def model_folder() -> Path | None:
    """Where the models of the Hugging Face hub are kept that were downloaded before."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "huggingface"  # noqa: PTH111  # as in view.py
    folder = Path(os.environ.get("HF_HUB_CACHE") or Path(home, "hub"))
    return folder.absolute() if folder.is_dir() else None
