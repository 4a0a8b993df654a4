"""The sections of the config file as records, up to Config, which is the whole file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from glob import escape
from pathlib import Path
from string import Formatter
from typing import Annotated, Literal

from annotated_types import Ge, Gt

from searchmark.config.agents import AgentEntry, AgentSpec
from searchmark.config.builtin import BuiltinSuite
from searchmark.config.gates import CompareSettings, DriftSettings, GateSettings
from searchmark.config.inputs import FileSettings, PathKind
from searchmark.config.option import Option, Setting, check_fields
from searchmark.config.permissions import Address, KeyVariable, PathBeside, RepositoryPath, WrittenFolder
from searchmark.config.run import OUR_FOLDER, RunSettings
from searchmark.config.strict import STRICT, Count, Positive, Whole, strict_record
from searchmark.errors import UsageError
from searchmark.io.paths import expand_paths
from searchmark.io.store import safe_file_name
from searchmark.io.text import shorten_to_bytes

# Names of files with placeholders, such as ``eval_{date}_{model}``: no value can lead out of the folder that they belong to.

PLACEHOLDERS = ("timestamp", "date", "suite", "agent", "model", "index")

LONGEST_PATTERN = 200  # bytes of one name; file systems hold 255


def check_pattern(pattern: str) -> None:
    """Refuse a pattern with an unknown placeholder, and one that names no file below a folder."""
    placeholders = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    try:
        pieces = list(Formatter().parse(pattern))
    except ValueError as error:
        raise UsageError(f"file_name {pattern!r} has a brace without its partner; the placeholders are {placeholders}") from error
    for _, field, form, conversion in pieces:
        if field is not None and (field not in PLACEHOLDERS or form or conversion):
            placeholder = field + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            raise UsageError(f"file_name {pattern!r}: there is no placeholder {{{placeholder}}}; available: {placeholders}")
    if any(part.startswith(".") or not part for part in pattern.split("/")) or "\\" in pattern or not pattern.isprintable():
        raise UsageError(
            f"file_name {pattern!r} must be a name below the output directory: no part may be empty or begin with a dot, "
            "and none has a backslash or a control character"
        )


def fill_pattern(pattern: str, values: Mapping[str, str]) -> Path:
    """The name with its values, each made one that files can have."""
    safe = {name: safe_file_name(value).lstrip("-.") or "none" for name, value in values.items()}
    return Path(*(_shorten_file_name(part.format_map(safe)) for part in pattern.split("/")))


def find_pattern(folder: Path, pattern: str) -> Iterator[Path]:
    """The files that are there under this name, whatever the values were."""
    anything = ((escape(literal), "" if field is None else "*") for literal, field, _, _ in Formatter().parse(pattern))
    return folder.glob("".join(part for parts in anything for part in parts))


def _shorten_file_name(name: str) -> str:
    """The name, cut where it is too long for a file, with a digest that keeps it apart from others; its extension stays."""
    if len(name.encode()) <= LONGEST_PATTERN:
        return name
    stem, dot, extension = name.rpartition(".")
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{shorten_to_bytes(stem, LONGEST_PATTERN - 30)}-{digest}{dot}{extension}"


# Where reports and raw runs are kept for later: the section ``archive`` of the config file.

ARCHIVE_FOLDER = f"{OUR_FOLDER}/runs"


@strict_record
class ArchiveFolderSettings:
    """Where the archive is."""

    directory: Annotated[WrittenFolder, Option("Folder of the archive.", ("--archive-folder",), "FOLDER")] = ARCHIVE_FOLDER

    def __post_init__(self) -> None:
        expand_paths(self, "directory")


@strict_record
class ArchiveSettings(ArchiveFolderSettings):
    """Whether runs are archived, and where; see docs/archive.md."""

    enabled: Annotated[
        bool,
        Option(
            "Keep the report and the raw runs in the archive.",
            ("--archive/--no-archive",),
            default="runs of agents are archived, saved runs are not",
        ),
    ] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fields(self)
        if not self.directory:
            raise UsageError("the folder of the archive has no name; leave --archive-folder out, or name one")


# Which versions of data, model and index a result belongs to, in the words of those who archive results.


@strict_record
class Versions:
    """What the section ``versions`` of the config declares; what it leaves open is taken from digests and descriptions."""

    dataset_version: str | None = None
    model_version: str | None = None
    index_params: str | None = None
    chunking_config: str | None = None
    query_set_version: str | None = None


# The config file as records, one per section.

# Headings in the help of ``generate``.
FILES_HEADING, QUERIES_HEADING = "Which files", "Queries"


@strict_record
class RewriterSettings:
    """The section ``dataset.rewriter``: a service with OpenAI's or Anthropic's chat API that rewrites queries.

    ``base_url`` and ``key_variable`` default to those of the API; with another ``base_url`` no key is sent unless the latter
    names the environment variable that holds it. The key itself does not belong into a file. ``max_requests`` and
    ``max_tokens`` bound what one call of the program may cost, ``max_answer_tokens`` one answer. ``temperature``: null for
    models that refuse any.
    """

    model: str
    base_url: Address | None = None
    key_variable: KeyVariable | None = None
    api: Literal["openai", "anthropic"] = "openai"
    temperature: Annotated[float, Ge(0), STRICT] | None = 0.0
    max_answer_tokens: Positive | None = None
    timeout_seconds: Annotated[float, Gt(0), STRICT] = 30.0
    retries: Count = 3
    backoff_seconds: Annotated[float, Ge(0), STRICT] = 1.0
    requests_per_second: Annotated[float, Gt(0), STRICT] | None = None
    max_requests: Count = 1000
    max_tokens: Count | None = None
    cache: WrittenFolder | None = None
    prompt: str | None = None

    def __post_init__(self) -> None:
        expand_paths(self, "cache")


@strict_record
class OutputSettings:
    """The section ``output``: where reports go when the command line names no file, and as what.

    ``safe_file_name``: what they are called in a folder, one name for all formats or one for each, with placeholders such as
    ``{date}``. docs/outputs.md lists them.
    """

    directory: WrittenFolder | None = None
    formats: tuple[str, ...] = ("json", "markdown")  # names of reports.RENDERERS, checked where reports are written
    file_name: str | Mapping[str, str] | None = None
    generate_visualizations: bool = False

    def __post_init__(self) -> None:
        expand_paths(self, "directory")
        names = self.file_name
        for pattern in names.values() if isinstance(names, Mapping) else [names] if names is not None else []:
            check_pattern(pattern)


@strict_record
class SuiteSettings:
    """The section ``suite``: what is measured by, where the command line does not say it.

    Paths are taken from the folder of the config. ``format`` and ``topics`` are those of the suite in ``path``; what is searched
    is a matter of the section ``corpus``. ``agent`` is the one of the section ``agents`` that ``evaluate`` runs where several
    are listed.
    """

    path: PathBeside | None = None
    format: str | None = None  # one of suites.detect.FORMATS, checked where the suite is read
    topics: PathBeside | None = None
    measures: tuple[str, ...] = ()
    agent: str | None = None

    def __post_init__(self) -> None:
        if self.path is None and (self.format is not None or self.topics is not None):
            raise UsageError("suite.format and suite.topics say how the suite is read; name it with suite.path")


@strict_record
class CorpusSettings(FileSettings):
    """The section ``corpus``: what is searched where the command line does not say it, and which files of that are documents.

    ``path`` is taken from the folder of the config, unless it is an address.
    """

    path: PathBeside | None = None

    @property
    def files(self) -> FileSettings:
        """Which files are documents, whatever is searched."""
        return FileSettings(self.include, self.exclude, self.kinds, self.ignore)


@strict_record
class DatasetSettings:
    """The section ``dataset``: which commits become cases, and what they ask. docs/gold-sets.md explains every field."""

    repository_path: Annotated[
        RepositoryPath | tuple[RepositoryPath, ...], Setting("Repositories to mine where --repo names none.")
    ] = ()
    revisions: Annotated[str | None, Option("Revisions to read.", ("--range",), "REV|A..B", "all that lead to HEAD")] = None
    since: Annotated[str | None, Option("Only commits from this date on, as 2024-03-15.", metavar="DATE")] = None
    until: Annotated[str | None, Option("Only commits up to this date.", metavar="DATE")] = None
    paths: Annotated[
        tuple[str, ...], Option("Only commits that change something below PATH; repeatable.", ("--path",), "PATH")
    ] = ()
    first_parent: Annotated[bool, Option("Follow only the first parent of merges.")] = False
    unit: Annotated[
        Literal["commit", "pr", "auto"],
        Option("Unit of a case: commit, pr, or auto (pull requests, then remaining commits)."),
    ] = "commit"
    include_merge_commits: Annotated[
        bool,
        Option("Make cases of merges as well.", ("--include-merges/--no-include-merges",)),
    ] = False
    without_rules: Annotated[
        tuple[str, ...], Option("Switch off a rule that removes commits; repeatable.", ("--without-rule",), "RULE")
    ] = ()
    max_cases: Annotated[int | None, Ge(1), STRICT, Option("Maximum number of cases per repository.", default="all")] = None
    max_alike: Annotated[
        Count, Option("Maximum number of cases with the same targets, and of cases with nearly the same query; 0 for any.")
    ] = 20
    sample: Annotated[
        Literal["newest", "spread", "random"], Option("Which commits to keep when there are more than --max-cases.")
    ] = "newest"
    seed: Annotated[Whole, Option("Seed of a random sample.")] = 0
    exclude_patterns: Annotated[
        tuple[str, ...],
        Option("Files that are never targets; repeatable.", ("--exclude",), "GLOB", section=FILES_HEADING),
    ] = ()
    kinds: Annotated[
        tuple[PathKind, ...],
        Option("Kind of files that are targets; repeatable.", ("--kind",), section=FILES_HEADING),
    ] = ("code",)
    granularity: Annotated[
        Literal["files", "lines"],
        Option("What is to be found: the files that a commit changes, or the lines in them.", section=FILES_HEADING),
    ] = "files"
    min_files: Annotated[Positive, Option("Minimum number of targets of a case.", section=FILES_HEADING)] = 1
    max_files: Annotated[Positive, Option("Maximum number of targets of a case.", section=FILES_HEADING)] = 20
    max_paths: Annotated[
        Positive, Option("Maximum number of paths that a commit changes, tests and docs not counted.", section=FILES_HEADING)
    ] = 50
    query: Annotated[
        Literal["clean", "subject", "masked", "raw", "llm"], Option("Wording that becomes the query.", section=QUERIES_HEADING)
    ] = "clean"
    min_words: Annotated[Positive, Option("Minimum number of words of a query.", section=QUERIES_HEADING)] = 4
    rewriter: Annotated[RewriterSettings | None, Setting("The chat service behind the query 'llm'.")] = None

    def __post_init__(self) -> None:
        check_fields(self)
        expand_paths(self, "repository_path")
        if self.max_files < self.min_files:
            raise UsageError(f"max_files must be at least min_files ({self.min_files}), not {self.max_files}")


@strict_record
class Config:
    """The whole file."""

    archive: ArchiveSettings = ArchiveSettings()
    compare: CompareSettings = CompareSettings()
    corpus: CorpusSettings = CorpusSettings()
    dataset: DatasetSettings = DatasetSettings()
    drift: DriftSettings = DriftSettings()
    evaluation: RunSettings = RunSettings()
    gates: GateSettings = GateSettings()
    agents: tuple[Annotated[AgentSpec, AgentEntry], ...] = ()
    output: OutputSettings = OutputSettings()
    suite: SuiteSettings = SuiteSettings()
    versions: Versions = Versions()

    def __post_init__(self) -> None:
        modes = {f"{agent.name}:{mode}": (mode, agent) for agent in self.agents for mode in agent.modes}
        for agent in self.agents:
            if agent.name in modes:
                mode, other = modes[agent.name]
                raise UsageError(
                    f"the agent {agent.name!r} is called as the mode {mode!r} of {other.name!r} is; rename one of them"
                )
        # A name and nothing else: a text such as command:ARGV would be run.
        if self.suite.agent is not None and self.suite.agent not in {*modes, *(agent.name for agent in self.agents)}:
            names = ", ".join(agent.name for agent in self.agents) or "none"
            raise UsageError(f"suite.agent must be one of the agents of the config ({names}), not {self.suite.agent!r}")

    @property
    def file(self) -> Path | None:
        """The file that it was read from; None if there was none."""
        return None

    @property
    def named(self) -> bool:
        """Whether the user has named that file."""
        return False

    @property
    def builtin(self) -> BuiltinSuite | None:
        """The built-in suite whose sections apply; None if another one is measured by."""
        return None

    @property
    def gates_of_suite(self) -> bool:
        """Whether the gates are those of that suite, which are about its first agent."""
        return False

    @property
    def listed_agents(self) -> tuple[str, ...]:
        """The agents that are asked where a command names none."""
        return tuple(spec.name for spec in self.agents)

    @property
    def folder(self) -> Path | None:
        """The folder that its file is in."""
        return None if self.file is None else self.file.parent

    @property
    def own_files(self) -> tuple[Path, ...]:
        """Its file, if that is about nothing else: the pyproject.toml of a project is one of its sources."""
        return () if self.file is None or self.file.name == "pyproject.toml" else (self.file,)
