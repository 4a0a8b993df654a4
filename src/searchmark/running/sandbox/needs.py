"""What an agent needs beside its code and the corpus: the network, environment variables, files that its config names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.agents.outside.needs import asks_service, databases, filled_variables, program_files
from searchmark.agents.source import BuiltIn, Http
from searchmark.errors import UsageError
from searchmark.registry import with_arms
from searchmark.services.postgres import is_reached_by_socket

SERVICES = {"openai": "OPENAI_API_KEY", "http": None}  # embedders and rerankers behind an address; the default variable of each
_FILES = ("vectors", "ids", "queries", "model", "database")
_INDEX = "index_file"


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
    parts = [(each, part) for each in specs for part in _mappings(each.config)]
    ours = [part for each, part in parts if isinstance(each.source, BuiltIn | Http)]
    keys = [*(part.get("key_variable") for _, part in parts), *map(_default_key, ours)]
    named = {*(name for each in specs for name in each.env), *(key for key in keys if isinstance(key, str) and key)}
    return Needs(
        network=any(each.network or asks_service(each) or databases(each) for each in specs)
        or any(part.get("name") in SERVICES for part in ours),
        variables=frozenset(named.union(*map(filled_variables, specs))),
        files=(*(path for part in ours for path in _files(part)), *(path for each in specs for path in program_files(each))),
    )


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from _mappings(each)


def _default_key(part: Mapping[str, Any]) -> str | None:
    return None if "key_variable" in part else SERVICES.get(str(part.get("name")))


def _files(part: Mapping[str, Any]) -> Iterator[Path]:
    paths = [Path(os.path.expanduser(part[key])).absolute() for key in _FILES if isinstance(part.get(key), str)]  # noqa: PTH111  # a user that does not exist is no error
    if isinstance(part.get("vectors"), str):  # the ids of an array lie beside it
        paths.append(Path(part["vectors"]).absolute().with_suffix(".json"))
    yield from (path for path in paths if path.exists())


def saved_index(spec: AgentSpec) -> Iterator[Path]:
    """The files that keep the vectors of a corpus; a sandboxed agent reads one, and cannot make it."""
    for part in (part for each in with_arms(spec) for part in _mappings(each.config) if isinstance(each.source, BuiltIn)):
        if part.get("name") == "exact" and part.get("file") is not None:
            raise UsageError(
                f"the index exact writes its vectors to a file ({part['file']}), which a sandboxed agent cannot; set memory_mb"
            )
        if isinstance(part.get(_INDEX), str):
            path = Path(part[_INDEX]).absolute()
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
