"""Formats of suites, runs and corpora: each is one object that holds everything known about it.

A format may come from another package. Its module makes the object, here ``house_formats.py``::

    from searchmark import Suite
    from searchmark.formats import SuiteFormat

    def fits(file):
        return file.text.startswith("#house")

    def read(file):
        grades = {}
        for line in file.text.splitlines()[1:]:
            query, target, grade = line.split("|")
            grades.setdefault(query, {})[target] = int(grade)
        return Suite.from_grades(grades, name=file.name)

    house = SuiteFormat("house", read=read, fits=fits, about="judgments of the house, lines of query|target|grade")

and the package names it in its ``pyproject.toml``, under the same name::

    [project.entry-points."searchmark.formats"]
    house = "house_formats:house"

From then on ``--format house`` reads such suites, and so does a plain ``searchmark evaluate`` where no format of ours fits
and ``fits`` says yes. Functions get the file: its ``path``, ``name``, ``extension``, ``text`` and, of JSON, ``data``. They may
raise `searchmark.FormatError`. A `RunFormat` reads a `searchmark.Run` or a list of them, a `CorpusFormat` yields a mapping with
``id`` and ``text`` for every document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from typing import Any, ClassVar, Literal, TypeVar
from warnings import warn

from searchmark.errors import FormatError, PluginWarning, SearchmarkError, UsageError, shortened
from searchmark.io.plugins import load_code, plugins
from searchmark.io.rows import PARQUET_MAGIC

__all__ = ["CorpusFormat", "Format", "RunFormat", "SuiteFormat"]

Code = Callable[..., Any] | str  # a function; of ours, where it is, so that its module is loaded only if the format is met

# What a file is known to be before formats are asked.
Shape = Literal["folder", "parquet", "data", "table", "text", "qrels", "head"]


@dataclass(frozen=True)
class Sign:
    """Names of fields, in snake_case, by which data tells what it is.

    They stand at the ``top`` of a file or in its ``entry``; those of a ``column`` tell what a file is, and not how it is read.
    """

    place: Literal["top", "entry", "column"]
    rank: int  # the most telling sign is asked first
    names: str
    called: str  # what such a file is


@dataclass(frozen=True, eq=False)
class Format:
    """A format: its name, how a file is known to have it, what reads it, and what people are told of it."""

    role: ClassVar[str]  # what a file of it is given as

    name: str
    _: KW_ONLY
    read: Code  # takes the file
    fits: Code | Mapping[Shape, Code] | None = None  # takes the file and tells whether it has the format; ours by its shape
    write: Code | None = None
    about: str = ""  # what it is
    extensions: tuple[str, ...] = ()  # of files that are written; of a corpus, of those that are read
    magic: bytes = b""  # what files of it begin with
    signs: tuple[Sign, ...] = field(default=(), repr=False)
    general: bool = False  # takes whatever it can make sense of, which may be something else

    def has(self, file: Any, shape: Shape | None = None) -> bool:
        """Whether a file has this format."""
        fits = self.fits.get(shape) if shape is not None and isinstance(self.fits, Mapping) else self.fits
        if fits is None or isinstance(fits, Mapping):
            return False
        try:
            return bool(self.call(file.path, fits, file))
        except SearchmarkError as error:
            if self in _OURS:
                raise
            if error.__cause__ is not None:
                warn(str(error), PluginWarning, stacklevel=2)
            return False  # a file that is no JSON, for one, has no format that is asked for its data

    def call(self, path: str | PathLike[str], code: Code, *arguments: Any) -> Any:
        """What one of its functions gives; in code of others anything may go wrong, and becomes a sentence."""
        if self in _OURS:
            return load_code(f"{__name__}.{code}")(*arguments)
        try:
            return (load_code(code) if isinstance(code, str) else code)(*arguments)
        except SearchmarkError:
            raise
        except Exception as error:
            raise self.failure(path, f"failed: {shortened(f'{type(error).__name__}: {error}', 300)}") from error

    def failure(self, path: str | PathLike[str], what: str) -> FormatError:
        return FormatError(path, None, f"the format {self.name!r}, which a plug-in adds, {what}")


@dataclass(frozen=True, eq=False)
class SuiteFormat(Format):
    """A format of suites: ``read`` returns a `Suite`; ``write`` takes one and a path, and returns what the file could not hold."""

    role: ClassVar[str] = "suite"

    known_by: str = ""  # in words
    holds: str = ""  # what of a suite is written, in words
    words: bool = False  # whether grades may be words, which --grades explains
    topics: bool = False  # whether the texts of its queries may be in a second file
    header: bool = False  # whether a mapping with its cases may also say how they are tested


@dataclass(frozen=True, eq=False)
class RunFormat(Format):
    """A format of runs: ``read`` returns a `Run` or a list of them."""

    role: ClassVar[str] = "run"

    order: str = ""  # that of the hits, in words


@dataclass(frozen=True, eq=False)
class CorpusFormat(Format):
    """A format of corpora: ``read`` yields a mapping for every document."""

    role: ClassVar[str] = "corpus"

    called: str = ""  # in the sentence that lists the formats


_RRE = "ratings of Rated Ranking Evaluator"

_SUITES = (
    SuiteFormat("native", read="suites.native:read_native", write="suites.native:write_native", extensions=(".json", ".jsonl"),
                about="our own format", known_by="`schema_version`",
                holds="everything but the [header for tests](pytest.md#the-header)",
                signs=(Sign("top", 1, "schema_version", "a suite of Searchmark"),
                       Sign("entry", 12, "judgments", "a suite of Searchmark"))),
    SuiteFormat("qrels", read="suites.trec:read_qrels", write="suites.trec:write_qrels", extensions=(".qrels", ".txt", ".trec"),
                about="TREC qrels, with or without topics", known_by="text that is nothing else",
                holds="grades, and queries in a file beside it (`OUT` with the ending `.topics.tsv`)", topics=True, general=True),
    SuiteFormat("table", read="suites.tables:read_table", words=True, general=True, header=True,
                about="questions and what should be found, in CSV, TSV, JSON, JSONL, YAML or Parquet",
                known_by="columns for a query and a target, by usual names or by `--map`"),
    SuiteFormat("diversity-qrels", read="suites.trec:read_diversity_qrels", fits={"qrels": "suites.trec:has_aspects"}, topics=True,
                about="TREC qrels with aspects of the queries",
                known_by="a document that comes again for one query with another second column"),
    SuiteFormat("gold-set", read="suites.case_lists:read_gold_set", write="suites.case_lists:write_gold_set", header=True,
                about="changed files, mined from Git history", known_by="`test_cases` with `ground_truth_files`",
                holds="queries, paths, category, tags, fields, metadata",
                signs=(Sign("entry", 1, "ground_truth_files", "a gold set"),)),
    SuiteFormat("case-list", read="suites.case_lists:read_case_list", header=True,
                about="curated queries with expected ids in order", known_by="`expectedIds`; also in TypeScript and JavaScript",
                signs=(Sign("entry", 3, "expected_ids", "a list of cases with expectedIds"),)),
    SuiteFormat("labels", read="suites.labels:read_labels", fits={"folder": "suites.labels:has_labels"}, words=True, topics=True,
                about="graded labels and a list of queries",
                known_by="`query_id`, `item_id` and `grade`; a folder with `labels.jsonl`",
                signs=(Sign("entry", 7, "query_id item_id grade", "graded labels"),)),
    SuiteFormat("symbols", read="suites.case_lists:read_symbols", header=True,
                about="expected symbols and glob patterns", known_by="`expected_symbols` or `expected_patterns`",
                signs=(Sign("entry", 4, "expected_symbols", "a suite of symbols"),
                       Sign("entry", 5, "expected_patterns", "a suite of symbols"))),
    SuiteFormat("fixtures", read="suites.fixtures:read_fixtures", header=True,
                about="fixtures that bring their documents along", known_by="`documents` and `query`",
                signs=(Sign("entry", 2, "documents query", "fixtures"),)),
    SuiteFormat("beir", read="suites.beir:read_beir", write="suites.beir:write_beir", words=True,
                fits={"folder": "suites.beir:has_queries", "text": "suites.beir:has_header"},
                about="a BEIR folder, or one of its qrels files", known_by="`queries.jsonl` in the folder; the header of the file",
                holds="queries, grades, fields; inline documents as `corpus.jsonl`",
                signs=(Sign("column", 14, "query_id corpus_id score", "BEIR qrels"),)),
    SuiteFormat("mteb", read="suites.beir:read_mteb", words=True,
                fits=dict.fromkeys(("folder", "parquet"), "suites.beir:has_parquet_qrels"),
                about="a folder of Parquet files as on the Hugging Face Hub",
                known_by="Parquet in `qrels`, `default` or `data`, and in `queries`"),
    SuiteFormat("quepid", read="suites.engines:read_quepid", fits={"table": "suites.engines:is_quepid_table"}, words=True,
                about="Quepid's exports: ratings (CSV, JSON), a case, a book",
                known_by="columns for query, document and rating; `query_text` with `ratings`; `query_doc_pairs`",
                signs=(Sign("top", 5, "query_doc_pairs", "a book of Quepid"),
                       Sign("entry", 8, "query_text ratings", "a case of Quepid"))),
    SuiteFormat("opensearch", read="suites.engines:read_opensearch", words=True,
                about="judgment lists of OpenSearch's Search Relevance Workbench", known_by="`judgmentRatings`",
                signs=(Sign("top", 4, "judgment_ratings", "a judgment list of OpenSearch"),
                       Sign("entry", 9, "query ratings", "ratings of documents by query"))),
    SuiteFormat("rank-eval", read="suites.engines:read_rank_eval", words=True,
                about="a request to Elasticsearch's `_rank_eval`", known_by="`requests` with `ratings`",
                signs=(Sign("entry", 10, "ratings", "a request to _rank_eval"),)),
    SuiteFormat("rre", read="suites.engines:read_rre", words=True,
                about="ratings of the Rated Ranking Evaluator", known_by="`topics` or `query_groups`; `relevant_documents`",
                signs=(Sign("top", 2, "topics", _RRE), Sign("top", 3, "query_groups", _RRE),
                       Sign("entry", 11, "relevant_documents", _RRE))),
    SuiteFormat("ltr", read="suites.trec:read_letor", fits={"text": "suites.trec:begins_as_letor"}, words=True,
                about="lists for learning to rank", known_by="lines of `grade qid:1 ... # document`"),
    SuiteFormat("swe-bench", read="suites.case_lists:read_swe_bench",
                about="SWE-bench, Loc-Bench", known_by="`instance_id` and `patch`",
                signs=(Sign("entry", 6, "instance_id patch", "a SWE-bench file"),)),
)  # fmt: skip

_RUNS = (
    RunFormat("native", read="runs.native:read_native_run", write="runs.native:write_native_run",
              about="our own format", order="as it is"),
    RunFormat("json", read="runs.json:read_json_run", general=True,
              about="one JSON mapping from case to hits (ranx writes it too), or a list of what JSON lines have",
              order="lists: as they are; `{id: score}`: by score, then id"),
    RunFormat("trec", read="runs.tables:read_trec", write="runs.tables:write_trec", extensions=(".trec",), general=True,
              about="lines of query, iteration, document, rank, score, tag", order="by score, then document"),
    RunFormat("jsonl", read="runs.json:read_jsonl_run", general=True,
              about="JSON lines, one per hit or one per case", order="per hit: as in CSV; per case: as in the list"),
    RunFormat("csv", read="runs.tables:read_csv", general=True,
              about="CSV, TSV and others with a header: a row per hit",
              order="by rank; else by score, then id; else as in the file"),
    RunFormat("parquet", read="runs.tables:read_parquet", magic=PARQUET_MAGIC, general=True,
              about="a row per hit, such as ranx writes", order="as in CSV"),
    RunFormat("elasticsearch", read="runs.json:read_responses", fits={"data": "runs.json:is_unnamed_response_list"}, general=True,
              about="responses of Elasticsearch and OpenSearch: by query, in a folder, or of `_msearch`; by query those of "
              "Solr, too",
              order="as in the response", signs=(Sign("top", 9, "responses", "a response of _msearch"),)),
    RunFormat("rank-eval", read="runs.json:read_rank_eval", fits={"data": "runs.json:is_rank_eval"},
              about="the response of `_rank_eval`", order="as in the response",
              signs=(Sign("top", 7, "metric_score details", "a response of _rank_eval"),)),
    RunFormat("quepid", read="runs.json:read_quepid",
              fits={"data": "runs.json:is_quepid_snapshot", "table": "runs.json:is_quepid_header"},
              about="snapshots of Quepid, JSON or CSV", order="as in the snapshot",
              signs=(Sign("top", 6, "docs queries time", "a snapshot of Quepid"),
                     Sign("column", 13, "snapshot_name query_text doc_id doc_position", "a snapshot of Quepid"))),
    RunFormat("ranx", read="runs.json:read_ranx", magic=b"\x04\x22\x4d\x18",
              about='what `Run.save("run.lz4")` of ranx writes', order="by score, then id"),
    RunFormat("mteb", read="runs.json:read_mteb", fits={"data": "runs.json:is_mteb_predictions"},
              about="`TASK_predictions.json` of MTEB", order="by score, then id",
              signs=(Sign("top", 8, "mteb_model_meta", "predictions of MTEB"),)),
)  # fmt: skip

_CORPORA = (
    CorpusFormat("jsonl", read="corpora.documents:records_of_lines", extensions=(".jsonl", ".ndjson"), about="an object on a line"),
    CorpusFormat("json", read="corpora.documents:records_of_array", extensions=(".json",), called="JSON (.json, .jsonl)",
                 about="an object in an array"),
    CorpusFormat("csv", read="corpora.documents:records_of_csv", extensions=(".csv", ".tsv"), called="CSV (.csv, .tsv)",
                 about="a line, under the names of the header; a header without commas may have semicolons or tabs"),
    CorpusFormat("parquet", read="input_file:placed_parquet_rows", extensions=(".parquet",), called="Parquet (.parquet)",
                 about="a row; so are the rows of all files of a folder `corpus`, or of a folder without folders, that holds "
                 "`*.parquet` and no other files than a README and a licence, as data sets of Hugging Face do"),
    CorpusFormat("sqlite", read="corpora.documents:sqlite_records", magic=b"SQLite format 3\0", called="SQLite",
                 about="a row of a table. Of several tables one is named: `--map table=symbols`. Views, virtual tables and "
                 "computed columns are not read, and values that are not text or numbers are left out"),
    CorpusFormat("trec", read="corpora.documents:trec_records", called="TREC <DOC>",
                 fits={"head": "corpora.documents:is_trec_start"},
                 about="a `<DOC>`: its id is `DOCNO`, its title `TITLE` or `HEADLINE`, its text every `TEXT`; other elements are "
                 "fields. Of a page of the web the text is what is not markup, the title that of the page, and `DOCHDR` a field. A "
                 "folder in which most of the first 20 files begin with a `<DOC>` and its `DOCNO` is one collection; files of it "
                 "that hold none are counted"),
    CorpusFormat("smart", read="corpora.documents:smart_records", called="SMART (.I .T .W)",
                 fits={"head": "corpora.documents:is_smart_start"},
                 about="a `.I`, as in Cranfield, CISI, MED and CACM: `.T` is the title, `.W` the text; `.A`, `.B`, `.K` are the "
                 "fields `author`, `source`, `keywords`"),
)  # fmt: skip

_OURS = (*_SUITES, *_RUNS, *_CORPORA)

SUITE_FORMATS = {each.name: each for each in _SUITES}

RUN_FORMATS = {each.name: each for each in _RUNS}

CORPUS_FORMATS = {each.name: each for each in _CORPORA}

WRITABLE_FORMATS = ("native", "gold-set", "qrels", "beir")  # the one that holds most comes first

FormatKind = TypeVar("FormatKind", bound=Format)


def own_formats(kind: type[FormatKind]) -> list[FormatKind]:
    """The formats of suites, of runs or of corpora that come with Searchmark."""
    return [each for each in _OURS if isinstance(each, kind)]


def all_formats(kind: type[FormatKind]) -> list[FormatKind]:
    """The same, and behind them those of plug-ins that have another name."""
    ours = own_formats(kind)
    return ours + [each for each in _plugin_formats(kind) if each.name not in {one.name for one in ours}]


def find_format(kind: type[FormatKind], name: str) -> FormatKind | None:
    """The format of this name; plug-ins are loaded only if none of ours has it."""
    return next((each for formats in (own_formats, _plugin_formats) for each in formats(kind) if each.name == name), None)


def named_format(kind: type[FormatKind], name: str) -> FormatKind:
    """The same, where there must be one."""
    found = find_format(kind, name)
    if found is None:
        raise UsageError(
            f"there is no {kind.role} format {name!r}; the formats are {', '.join(each.name for each in all_formats(kind))}"
        )
    return found


def first_that_fits(kind: type[FormatKind], file: Any, shape: Shape) -> FormatKind | None:
    """The first format of ours that a file has, of those that ask for files of this shape."""
    return next((each for each in own_formats(kind) if each.has(file, shape)), None)


def plugin_that_fits(kind: type[FormatKind], file: Any) -> FormatKind | None:
    """The first format of another package that a file has; to be asked where none of ours does."""
    return next((each for each in _plugin_formats(kind) if each.has(file)), None)


def _plugin_formats(kind: type[FormatKind]) -> Iterator[FormatKind]:
    for name, added in plugins("formats").items():
        if added.name != name:
            warn(f"the plug-in {name!r} (formats) is not used: it is a format called {added.name!r}", PluginWarning, stacklevel=3)
        elif isinstance(added, kind):
            yield added
