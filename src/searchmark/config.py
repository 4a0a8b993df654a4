"""The config file: plain data, checked field by field, no objects.

YAML, TOML, or ``[tool.searchmark]`` in ``pyproject.toml``. Without ``--config`` the nearest ``searchmark.yaml``,
``searchmark.toml`` or ``pyproject.toml`` with such a table, from the working directory upwards, is used.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Le

from searchmark.errors import FormatError, UsageError
from searchmark.files.store import check_readable, check_shape, read_text

NAMES = ("searchmark.yaml", "searchmark.yml", "searchmark.toml", "pyproject.toml")


@dataclass(frozen=True)
class Rule:
    """One line of a decision table.

    ``above`` and ``below`` bound the relative gain over the baseline (0.1 is 10 %). ``categories``: empty for the
    suite as a whole, ["all"] for every category, or those that must all fulfil it, by name or number.
    ``evidence``: whether the verdict must support it, or the mean alone will do.
    """

    decision: str
    above: float | None = None
    below: float | None = None
    categories: tuple[str | int, ...] = ()
    evidence: Literal["verdict", "mean"] = "verdict"

    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True)
class DecisionTable:
    """What to decide about one arm, measured against another; the first rule with evidence wins."""

    candidate: str
    baseline: str
    rules: tuple[Rule, ...]
    measure: str | None = None
    otherwise: str = "no clear gain"

    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True)
class CompareConfig:
    """The section ``compare``."""

    min_effect: float = 0.01
    margin: float = 0.02
    decisions: tuple[DecisionTable, ...] = ()

    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True)
class EvaluationConfig:
    """The section ``evaluation``: how agents are run. What is not given has the default of `RunOptions`."""

    num_runs: Annotated[int, Ge(1)] | None = None
    timeout_seconds: Annotated[float, Gt(0)] | None = None
    initialize_timeout_seconds: Annotated[float, Gt(0)] | None = None
    depth: Annotated[int, Ge(1), Le(1_000_000)] | None = None
    seed: int | None = None
    randomize_order: bool | None = None
    warm_up: bool | None = None
    max_failures: Annotated[int, Ge(1)] | None = None
    memory_limit_mb: Annotated[int, Ge(1), Le(1 << 30)] | None = None
    jobs: Annotated[int, Ge(1)] | None = None

    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True)
class RewriterConfig:
    """The section ``dataset.rewriter``: a chat service with OpenAI's interface that words queries anew.

    ``key_variable`` names the environment variable with the key; the key itself has no place in a file.
    ``max_requests`` and ``max_tokens`` bound what one call of the program may cost.
    """

    model: str
    base_url: str = "https://api.openai.com/v1"
    key_variable: str = "OPENAI_API_KEY"
    timeout_seconds: float = 30.0
    retries: int = 3
    backoff_seconds: float = 1.0
    max_requests: int = 1000
    max_tokens: int | None = None
    cache: str | None = None
    prompt: str | None = None

    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True)
class AgentConfig:
    """One entry of ``agents``: a name, what it is (in the file: ``class``), and its options."""

    name: str
    source: str | None = None
    config: dict[str, Any] = field(default_factory=dict)

    __pydantic_config__: ClassVar = {"extra": "forbid", "alias_generator": lambda name: "class" if name == "source" else name}


@dataclass(frozen=True)
class OutputConfig:
    """The section ``output``: where reports go when the command line names no place, and as what."""

    directory: str | None = None
    formats: tuple[str, ...] = ("json", "markdown")  # names of reports.RENDERERS, checked where reports are written
    generate_visualizations: bool = False

    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True)
class DatasetConfig:
    """The section ``dataset``: which commits become cases, and what they ask. docs/gold-sets.md explains every field."""

    repository_path: str | tuple[str, ...] = ()
    exclude_patterns: tuple[str, ...] = ()
    min_files: int = 1
    max_files: int = 20
    max_paths: int = 50
    include_merge_commits: bool = False
    kinds: tuple[Literal["code", "test", "doc", "generated", "vendored", "config", "other"], ...] = ("code",)
    without_rules: tuple[str, ...] = ()
    min_words: int = 4
    unit: Literal["commit", "pr", "auto"] = "commit"
    revisions: str | None = None
    since: str | None = None
    until: str | None = None
    paths: tuple[str, ...] = ()
    first_parent: bool = False
    max_cases: int | None = None
    sample: Literal["newest", "spread", "random"] = "newest"
    seed: int = 0
    query: Literal["clean", "subject", "masked", "raw", "llm"] = "clean"
    rewriter: RewriterConfig | None = None

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    def __post_init__(self) -> None:
        least = {"min_files": 1, "max_files": self.min_files, "max_paths": 1, "min_words": 1, "max_cases": 1}
        for name, low in least.items():
            value = getattr(self, name)
            if value is not None and value < low:
                raise UsageError(f"{name} is {value}, and must be {low} or more")


@dataclass(frozen=True)
class Config:
    """The whole file. Sections that later stages read are let through and not looked at yet."""

    compare: CompareConfig = CompareConfig()
    dataset: DatasetConfig = DatasetConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    agents: tuple[AgentConfig, ...] = ()
    output: OutputConfig = OutputConfig()

    __pydantic_config__: ClassVar = {"extra": "forbid"}


def load_config(path: str | PathLike[str] | None = None) -> Config:
    """The config in this file, or the nearest one, or the defaults."""
    file = Path(path) if path is not None else _nearest(Path.cwd())
    if file is None:
        return Config()
    check_readable(file)
    from pydantic import TypeAdapter

    content = _content(file)
    return check_shape(file, TypeAdapter(Config), {} if content is None else content)


def _nearest(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        for name in NAMES:
            file = place / name
            if file.is_file() and (name != "pyproject.toml" or _is_ours(file)):
                return file
    return None


def _is_ours(file: Path) -> bool:
    """Whether a project file that nobody named has something for us; one that is broken is not our business."""
    try:
        return bool(_section(tomllib.loads(read_text(file))))
    except (tomllib.TOMLDecodeError, RecursionError):
        return False


def _section(project: dict[str, Any]) -> Any:
    tool = project.get("tool")
    return tool.get("searchmark", {}) if isinstance(tool, dict) else {}


def _content(file: Path) -> Any:
    text = read_text(file)
    if file.suffix.lower() != ".toml":
        from searchmark.files.yaml_files import parse_yaml

        return parse_yaml(file, text, numbers=True)
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FormatError(file, None, f"not valid TOML: {error}") from error
    return _section(data) if file.name == "pyproject.toml" else data


# The decision table that many teams start from: is vector search worth it, and is a reranker?
PRESETS = {
    "vector-search": (
        DecisionTable(
            candidate="vector",
            baseline="fts5",
            rules=(
                Rule("keep vector search and promote it", above=0.10, categories=("all",)),
                Rule("keep vector search and document what it is good for", above=0.10, categories=(1, 2, 5)),
                Rule("drop vector search and simplify the system", below=0.05),
            ),
        ),
        DecisionTable(
            candidate="reranker",
            baseline="vector",
            rules=(Rule("recommend the reranker by default", above=0.15),),
        ),
    )
}
