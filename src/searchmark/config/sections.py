"""The config file as records, one per section."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Gt

from searchmark.agents.agent import AgentChoice, AgentSpec
from searchmark.errors import UsageError
from searchmark.files.name_patterns import check_pattern
from searchmark.options.archive_options import ArchiveOptions
from searchmark.options.compare_options import CompareOptions
from searchmark.options.corpus_choice import FileChoice, Kind
from searchmark.options.drift_options import DriftOptions
from searchmark.options.gate_options import GateOptions
from searchmark.options.option import Option, Setting, check_fields
from searchmark.options.run_options import RunOptions
from searchmark.options.sensitive import Address, KeyVariable, PathBeside, RepositoryPath, WrittenFolder
from searchmark.options.strict import strict_record
from searchmark.options.user_paths import expand_paths
from searchmark.records.versions import Versions
from searchmark.suites.builtin import BuiltinSuite

# Headings in the help of ``generate``.
WHICH_FILES, QUERIES = "Which files", "Queries"


@strict_record
class RewriterConfig:
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
    temperature: Annotated[float, Ge(0)] | None = 0.0
    max_answer_tokens: Annotated[int, Ge(1)] | None = None
    timeout_seconds: Annotated[float, Gt(0)] = 30.0
    retries: Annotated[int, Ge(0)] = 3
    backoff_seconds: Annotated[float, Ge(0)] = 1.0
    requests_per_second: Annotated[float, Gt(0)] | None = None
    max_requests: Annotated[int, Ge(0)] = 1000
    max_tokens: Annotated[int, Ge(0)] | None = None
    cache: WrittenFolder | None = None
    prompt: str | None = None

    def __post_init__(self) -> None:
        expand_paths(self, "cache")


@strict_record
class OutputConfig:
    """The section ``output``: where reports go when the command line names no file, and as what.

    ``file_name``: what they are called in a folder, one name for all formats or one for each, with placeholders such as
    ``{date}``. docs/outputs.md lists them.
    """

    directory: WrittenFolder | None = None
    formats: tuple[str, ...] = ("json", "markdown")  # names of reports.RENDERERS, checked where reports are written
    file_name: str | Mapping[str, str] | None = None
    generate_visualizations: bool = False

    def __post_init__(self) -> None:
        expand_paths(self, "directory")
        named = self.file_name
        for pattern in named.values() if isinstance(named, Mapping) else [named] if named is not None else []:
            check_pattern(pattern)


@strict_record
class SuiteConfig:
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
class CorpusConfig(FileChoice):
    """The section ``corpus``: what is searched where the command line does not say it, and which files of that are documents.

    ``path`` is taken from the folder of the config, unless it is an address.
    """

    path: PathBeside | None = None

    @property
    def files(self) -> FileChoice:
        """Which files are documents, whatever is searched."""
        return FileChoice(self.include, self.exclude, self.kinds, self.ignore)


@strict_record
class DatasetConfig:
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
    max_cases: Annotated[int | None, Ge(1), Option("Maximum number of cases per repository.", default="all")] = None
    max_alike: Annotated[
        int, Ge(0), Option("Maximum number of cases with the same targets, and of cases with nearly the same query; 0 for any.")
    ] = 20
    sample: Annotated[
        Literal["newest", "spread", "random"], Option("Which commits to keep when there are more than --max-cases.")
    ] = "newest"
    seed: Annotated[int, Option("Seed of a random sample.")] = 0
    exclude_patterns: Annotated[
        tuple[str, ...],
        Option("Files that are never targets; repeatable.", ("--exclude",), "GLOB", section=WHICH_FILES),
    ] = ()
    kinds: Annotated[
        tuple[Kind, ...],
        Option("Kind of files that are targets; repeatable.", ("--kind",), section=WHICH_FILES),
    ] = ("code",)
    granularity: Annotated[
        Literal["files", "lines"],
        Option("What is to be found: the files that a commit changes, or the lines in them.", section=WHICH_FILES),
    ] = "files"
    min_files: Annotated[int, Ge(1), Option("Minimum number of targets of a case.", section=WHICH_FILES)] = 1
    max_files: Annotated[int, Ge(1), Option("Maximum number of targets of a case.", section=WHICH_FILES)] = 20
    max_paths: Annotated[
        int, Ge(1), Option("Maximum number of paths that a commit changes, tests and docs not counted.", section=WHICH_FILES)
    ] = 50
    query: Annotated[
        Literal["clean", "subject", "masked", "raw", "llm"], Option("Wording that becomes the query.", section=QUERIES)
    ] = "clean"
    min_words: Annotated[int, Ge(1), Option("Minimum number of words of a query.", section=QUERIES)] = 4
    rewriter: Annotated[RewriterConfig | None, Setting("The chat service behind the query 'llm'.")] = None

    def __post_init__(self) -> None:
        check_fields(self)
        expand_paths(self, "repository_path")
        if self.max_files < self.min_files:
            raise UsageError(f"max_files must be at least min_files ({self.min_files}), not {self.max_files}")


@strict_record
class Config:
    """The whole file."""

    archive: ArchiveOptions = ArchiveOptions()
    compare: CompareOptions = CompareOptions()
    corpus: CorpusConfig = CorpusConfig()
    dataset: DatasetConfig = DatasetConfig()
    drift: DriftOptions = DriftOptions()
    evaluation: RunOptions = RunOptions()
    gates: GateOptions = GateOptions()
    agents: tuple[Annotated[AgentSpec, AgentChoice], ...] = ()
    output: OutputConfig = OutputConfig()
    suite: SuiteConfig = SuiteConfig()
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
            listed = ", ".join(agent.name for agent in self.agents) or "none"
            raise UsageError(f"suite.agent must be one of the agents of the config ({listed}), not {self.suite.agent!r}")

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
