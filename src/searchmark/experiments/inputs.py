"""What a command makes of its options, the config and the suite's header: agents, gates, documents, cases, saved runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from searchmark.config.gates import BASELINE_FILE
from searchmark.config.inputs import CorpusInputSettings, FieldNames, FileSettings
from searchmark.config.run import OUR_FOLDER, CaseSelection, ReportSettings, RunSettings
from searchmark.config.sections import Config
from searchmark.errors import UsageError
from searchmark.formats.corpora.case_locations import SearchScope, snapshots_to_search
from searchmark.formats.corpora.corpus import Corpus, Survey, corpus_of, download_corpus, open_corpus
from searchmark.gates.rules import Rule
from searchmark.gates.section import gates_in_force
from searchmark.io.paths import is_address
from searchmark.records.merge import restrict_to_suite
from searchmark.records.provenance import WORK_TREE
from searchmark.records.run import Run
from searchmark.records.suite import Suite

if TYPE_CHECKING:
    from searchmark.config.agents import AgentSpec
    from searchmark.formats.suites.native import SuiteSetup
    from searchmark.reports.archive import Archive
    from searchmark.reports.outranked import DocumentOf, ReadDocuments
    from searchmark.running.hit_texts import HitTexts
    from searchmark.running.result import RunResult


# Which agents are meant by names and modes, by a config and by a suite's header.


def agents_named(names: Sequence[str], modes: Sequence[str], config: Config) -> tuple[AgentSpec, ...]:
    """The agents of these names, with what the config says about them, each in the modes that are wanted."""
    from searchmark.agents.registry import agents_in_modes, named_spec

    return tuple(agents_in_modes([named_spec(name, config.agents) for name in names], modes))


def only_agent(config: Config) -> str | None:
    """The agent that a config wants evaluated, or its only one; None if it lists none, and refused if nothing tells which.

    The first one of a built-in suite is the one that its gates are about.
    """
    if config.suite.agent is not None:
        return config.suite.agent
    names = config.listed_agents
    if len(names) > 1 and config.builtin is None:
        raise UsageError(
            f"the config lists several agents: name one with --agent ({', '.join(names)}) or as suite.agent, or compare them all"
        )
    return names[0] if names else None


def agent_to_evaluate(name: str | None, mode: str | None, setup: SuiteSetup, config: Config) -> AgentSpec:
    """The agent that is named, or else that of the suite's header, in one mode; code is not taken from there."""
    from searchmark.agents.registry import agent_in_one_mode, named_spec, spec_of_suite

    if name is None and setup.agent is not None:
        spec, chosen_mode = spec_of_suite(setup.agent, config.agents), mode or setup.mode
    elif name is None and not any((mode or "") in spec.modes for spec in config.agents):
        spec, chosen_mode = named_spec(mode or "", config.agents), None  # an agent by its own name, which is its only mode
    else:
        spec, chosen_mode = named_spec(name or _agent_with(mode or "", config), config.agents), mode
    return agent_in_one_mode(spec, chosen_mode, ": --mode NAME")


def _agent_with(mode: str, config: Config) -> str:
    """The one agent of the config that has this mode: a mode may be named alone."""
    names = [spec.name for spec in config.agents if mode in spec.modes]
    if len(names) != 1:
        raise UsageError(f"--mode {mode} needs the agent that it is a mode of (--agent NAME); these have it: {', '.join(names)}")
    return names[0]


def allowed(spec: AgentSpec, options: RunSettings, pass_env: Sequence[str] = ()) -> AgentSpec:
    """The agent with the variables that it is passed, refused if it would do what the options forbid."""
    from searchmark.agents.registry import check_spec

    check_spec(spec, foreign=not options.no_exec, network=options.network)
    return replace(spec, env=(*spec.env, *pass_env))


# Which gates are in force on a suite, and where their baseline and the looks at it are kept.


def with_gates_of(setup: SuiteSetup, config: Config) -> Config:
    """The config with the gates of the suite's header, if it has any."""
    return replace(config, gates=gates_in_force(setup.gates, config.gates))


def baseline_file(config: Config, path: str | None = None) -> str:
    """Where the baseline is kept."""
    return path or config.gates.baseline or str(default_baseline(config))


def default_baseline(config: Config) -> Path:
    """Where a baseline is kept that is not named: beside the config, or here."""
    return (config.folder or Path()) / BASELINE_FILE


def looks_file(config: Config, path: str | None = None) -> Path:
    """The file beside which looks are counted: the baseline, or for that of a built-in suite one of that name here."""
    if path is None and config.builtin is not None:
        return Path(f"{config.builtin.name}-baseline.jsonl")
    return Path(baseline_file(config, path))


# What is searched, where the command line, the config and the suite's header may each name it.

ChoiceT = TypeVar("ChoiceT", bound=CorpusInputSettings)


def corpus_in_use(
    choice: ChoiceT,
    setup: SuiteSetup,
    config: Config,
    answers: Iterable[Path] = (),
    files: FileSettings | None = None,
    *,
    network: bool | None = None,
) -> ChoiceT:
    """The choice with the corpus of the config or else of the suite's header, where it names none.

    One that is an address is downloaded now, if there may be ``network``: unless that is said, the config decides. It stays an
    address, so that another machine can do the same. ``answers`` are files that say what is right, and so no documents.
    """
    corpus = choice.corpus or config.corpus.path or (None if setup.corpus is None else str(setup.corpus))
    if corpus is not None and is_address(corpus):
        download_corpus(corpus, network=config.evaluation.network if network is None else network)
    return replace(_with_files(choice, config, answers, files), corpus=corpus)


def scope_in_use(
    where: SearchScope,
    setup: SuiteSetup,
    config: Config,
    answers: Sequence[Path],
    files: FileSettings | None = None,
    *,
    network: bool | None = None,
) -> SearchScope:
    """What agents search: the corpus that is in use, unless a repository is named, and where cases go that name no repository.

    ``answers`` are files that say what is right, that of the suite first: repositories are looked for beside it.
    """
    repository = config.dataset.repository_path  # several are a matter of mining
    where = replace(where, base=answers[0].parent, repository_path=repository if isinstance(repository, str) else None)
    if where.repositories or where.snapshots:
        return _with_files(where, config, answers, files)
    return corpus_in_use(where, setup, config, answers, files, network=network)


def _with_files(choice: ChoiceT, config: Config, answers: Iterable[Path], files: FileSettings | None) -> ChoiceT:
    """The choice with the files that are documents; the config is none, nor are the answers."""
    never = tuple(path.absolute() for path in (*answers, *config.own_files))
    return replace(choice, files=config.corpus.files if files is None else files, never=never)


def with_builtin_repository(where: SearchScope, config: Config) -> SearchScope:
    """What is searched with the repository of a built-in suite, made or found now, where nothing else is named."""
    if config.builtin is None or where.corpus or where.repositories or where.repository_path:
        return where
    from searchmark.git.builtin import repository_of

    repository = repository_of(config.builtin.name)
    return where if repository is None else replace(where, repositories=(repository,))


def archived_paths(archive: Archive, suite: Suite, where: SearchScope) -> list[Path]:
    """What of an archive agents must not see, since it tells what others have answered; one in what they search is refused.

    Entries are named one by one, too: a folder with the agent's own code in it is not hidden as a whole.
    """
    folder = archive.folder.resolve()
    for path in map(Path.resolve, _searched_paths(suite, where)):
        below = folder.relative_to(path).parts if folder.is_relative_to(path) else None
        if path.is_relative_to(folder) or (below is not None and OUR_FOLDER not in below):
            raise UsageError(
                f"the archive {archive.folder} and {path}, which is searched, are one in the other; "
                "name a different folder with --archive-folder"
            )
    with suppress(UsageError):  # what cannot be read here cannot be read by an agent
        return [archive.folder, *map(archive.path, archive.entries())]
    return [archive.folder]


def _searched_paths(suite: Suite, where: SearchScope) -> Iterator[Path]:
    """What is searched as it lies on disk; a commit is not, and neither is what has an address."""
    if where.corpus is not None:
        yield from () if is_address(where.corpus) else (Path(where.corpus),)
    elif {*snapshots_to_search(suite, where)} & {None, WORK_TREE}:
        yield from (Path(source.path) for source in where.named if source.address is None)


# What is known of documents, cases and saved runs.


def corpus_named(suite: Suite, choice: CorpusInputSettings) -> Corpus | None:
    """The corpus that was named, or what the suite brings along, or nothing."""
    if choice.corpus is not None:
        return open_corpus(choice)
    if FieldNames.parse(choice.mapping).corpus:
        raise UsageError("--map names the fields of a corpus; it needs --corpus")
    return None if suite.table.documents is None else corpus_of(suite)


def survey_of(suite: Suite, choice: CorpusInputSettings = SearchScope()) -> Survey | None:  # noqa: B008  # frozen
    """The ids of the same: what a report knows about the documents that were searched."""
    corpus = corpus_named(suite, choice)
    return None if corpus is None else corpus.survey


def with_fields_of_targets(
    suite: Suite,
    by: Iterable[str],
    rules: Iterable[Rule] = (),
    choice: CorpusInputSettings = SearchScope(),  # noqa: B008  # frozen
) -> Suite:
    """The suite with the fields of targets that splits and rules of a gate ask for; nothing is read where they ask for none."""
    from searchmark.formats.corpora.case_locations import fields_of_targets, with_target_fields
    from searchmark.gates.bounds import NumberRule, RelativeRule

    segments = [rule.segment.by for rule in rules if isinstance(rule, NumberRule | RelativeRule)]
    names = [*by, *filter(None, segments)]
    if not fields_of_targets(names):
        return suite
    from searchmark.judgments.label import value_folder

    return with_target_fields(suite, names, None if choice.corpus is None else open_corpus(choice), value_folder())


def texts_of_hits(detail: ReportSettings, suite: Suite, where: SearchScope, runs: Sequence[Run]) -> HitTexts | None:
    """What reads the texts of hits; None unless they were asked for."""
    if not detail.hit_texts:
        return None
    from searchmark.running.hit_texts import load_hit_texts

    return load_hit_texts(suite, where, runs, detail.limit)


def document_reader(suite: Suite, where: SearchScope, runs: Sequence[Run]) -> ReadDocuments:
    """What reads documents by their ids, once these are known; nothing where it is not known what was searched."""

    def read(ids: Iterable[str]) -> DocumentOf:
        from searchmark.running.hit_texts import load_documents

        try:
            return load_documents(suite, where, runs, lambda _: ids).document
        except UsageError:
            return lambda *_: None

    return read


def select_cases(suite: Suite, cases: CaseSelection, seed: int = 0) -> Suite:
    """The suite with the cases that were asked for, where no agent is run."""
    if cases == CaseSelection():
        return suite
    from searchmark.running.plan import select_cases

    return select_cases(suite, cases, seed)


def saved_runs_on(
    suite: Suite,
    runs: Iterable[Run],
    choice: CorpusInputSettings = SearchScope(),  # noqa: B008  # frozen
    cases: CaseSelection = CaseSelection(),  # noqa: B008  # frozen
    seed: int = 0,
) -> RunResult:
    """Saved runs as if they had just been made: on the cases that are wanted, with what is known of the corpus."""
    from searchmark.running.result import RunResult

    selected_suite = select_cases(suite, cases, seed)
    return RunResult(selected_suite, tuple(restrict_to_suite(runs, suite, selected_suite)), survey_of(selected_suite, choice))


def with_saved(run_result: RunResult, runs: Iterable[Run], whole: Suite) -> RunResult:
    """What has just been run, behind saved runs on the same cases of the ``whole`` suite."""
    return replace(run_result, runs=(*restrict_to_suite(runs, whole, run_result.suite), *run_result.runs))
