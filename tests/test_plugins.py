"""What other packages add by entry points: found as an installer leaves it, used by name, and never in the way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Barrier, Thread

import pytest

from searchmark.agents.registry import create_agent, load_agent
from searchmark.errors import PluginWarning, UsageError
from searchmark.experiments.sweep_grid import SweepSettings, grid_of
from searchmark.io.plugins import find_plugin, installed_plugins, plugins, plugins_forbidden
from searchmark.running.sandbox.view import has_foreign_code
from tests.conftest import ROOT

MODULE = '''
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from searchmark.agents.outside.presets import Engine, Preset
from searchmark.agents.outside.results import ResultFormat
from searchmark.agents.vectors.embedder import EmbedderSettings, EmbeddingModel
from searchmark.agents.vectors.index import IndexSettings, Neighbours

print("this line belongs to no report")
Path(__file__).with_name("trace").touch()


class LastFile:
    """Finds the last file, whatever is asked."""

    def initialize(self, corpus):
        self.ids = sorted(document.id for document in corpus)

    def retrieve(self, query, k):
        return self.ids[-1:]


class LetterModel(EmbeddingModel):
    name, revision, dimension = "letters", "1", 26

    def encode(self, texts):
        return np.array([[text.lower().count(chr(97 + place)) for place in range(26)] for text in texts], dtype=np.float32)


@dataclass(frozen=True)
class LetterSettings(EmbedderSettings):
    """Options of ``letters``."""

    shout: bool = False

    def load_model(self):
        return LetterModel()


class FirstRows:
    exact = False

    def __init__(self, dimension, distance):
        self.dimension, self.distance, self.numbers = dimension, distance, set()

    def put(self, numbers, vectors):
        self.numbers.update(numbers.tolist())

    def drop(self, numbers):
        self.numbers.difference_update(numbers.tolist())

    def build(self):
        pass

    def search(self, query, k):
        first = sorted(self.numbers)[:k]
        return Neighbours(np.array(first, dtype=np.int64), -np.arange(len(first), dtype=np.float64))

    def size(self):
        return None

    def describe(self):
        return {"name": "first-rows"}

    def close(self):
        pass


@dataclass(frozen=True)
class FirstRowsSettings(IndexSettings):
    def open(self, dimension, distance):
        return FirstRows(dimension, distance)


engine = Engine(lambda config: Preset("/find/{index}", "GET", {"q": "{query}"}, results=ResultFormat(hits="found")))
'''

POINTS = {
    "agents": {"last-file": "LastFile", "bm25": "LastFile"},
    "embedders": {"letters": "LetterSettings", "hashing": "LetterSettings", "gone": "NotThere", "wrong": "LetterModel"},
    "indexes": {"first-rows": "FirstRowsSettings", "wrong": "LetterSettings"},
    "presets": {"finder": "engine", "wrong": "LetterModel"},
}

DOCUMENTS = {"cart.md": "the cart of the shop", "login.md": "how to log in", "zebra.md": "an animal"}

CASES = [{"id": "c1", "query": "zebra", "ground_truth_files": ["zebra.md"]}]


def install(folder: Path, name: str, module: str, points: dict[str, dict[str, str]]) -> Path:
    """A package of one module, as an installer leaves it."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(module)
    information = folder / f"{name}-1.2.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    groups = (
        f"[searchmark.{group}]\n" + "".join(f"{key} = {name}:{value}\n" for key, value in each.items())
        for group, each in points.items()
    )
    (information / "entry_points.txt").write_text("\n".join(groups))
    return folder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an installed package, beside one with a suite and documents, where commands are run."""
    work = tmp_path / "work"
    (work / "documents").mkdir(parents=True)
    for name, text in DOCUMENTS.items():
        (work / "documents" / name).write_text(text)
    (work / "gold.json").write_text(json.dumps({"test_cases": CASES}))
    (work / "run.trec").write_text("c1 Q0 zebra.md 1 1.0 mine\n")
    monkeypatch.chdir(work)
    return install(tmp_path / "site", "their_search", MODULE, POINTS)


def searchmark(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "searchmark", *arguments]
    environment = os.environ | {"PYTHONPATH": str(site), "SEARCHMARK_CACHE": str(site / "cache"), "COLUMNS": "300"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def evaluate(site: Path, agent: object, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One search of an agent of a config, with the report as JSON on stdout."""
    Path("named.json").write_text(json.dumps({"agents": [agent]}))
    options = ("--config", "named.json", "--agent", "mine", "--num-runs", "1", "-m", "RR", "-o", "-")
    return searchmark(site, "evaluate", "--gold-set", "gold.json", *options, *arguments)


DOCUMENT_FOLDER = ("--corpus", "documents")

USES = {
    "agents": {"name": "mine", "source": "last-file"},
    "embedders": {"name": "mine", "source": "semantic", "config": {"embedder": {"name": "letters", "shout": True}}},
    "indexes": {"name": "mine", "source": "semantic", "config": {"embedder": "hashing", "index": "first-rows"}},
    "arms": {"name": "mine", "source": "hybrid", "config": {"arms": [{"name": "semantic", "config": {"embedder": "letters"}}]}},
}


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_what_a_package_adds_is_named_as_ours_is(use: str, site: Path) -> None:
    done = evaluate(site, USES[use], *DOCUMENT_FOLDER)
    assert done.returncode == 0, done.stderr
    case = json.loads(done.stdout)["agents"]["mine"]["cases"]["c1"]
    assert case["status"] == "ok"
    assert [hit["id"] for hit in case["hits"]][:1] == (["cart.md"] if use == "indexes" else ["zebra.md"])
    assert "this line belongs to no report" not in done.stdout


ANSWERS = {
    "/find/products?q=zebra": ["zebra.md"],
    "/v2/products/find?text=zebra": [{"sku": "zebra.md", "score": 2.5}, {"sku": "cart.md", "score": 0.5}],
}


@pytest.fixture
def service() -> Iterator[str]:
    """A search engine that only a plug-in knows."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = ANSWERS.get(self.path.partition("&")[0], [])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"found": found}).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_preset_of_a_package_asks_its_engine(site: Path, service: str) -> None:
    agent = {"name": "mine", "source": "http", "config": {"preset": "finder", "url": service, "index": "products"}}
    done = evaluate(site, agent)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["agents"]["mine"]["measures"]["RR"]["mean"] == 1.0


@pytest.fixture
def example(site: Path) -> Path:
    """The package in examples/plugin, installed."""
    shutil.copytree(ROOT / "examples" / "plugin", site / "source")
    options = ("--offline", "--no-deps", "--no-build-isolation", "--python", sys.executable, "--target", str(site / "installed"))
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "pip", "install", "--quiet", *options, site / "source"], check=True)
    return site / "installed"


def test_the_example_package_works(example: Path, service: str) -> None:
    agent = {"name": "mine", "source": "http", "config": {"preset": "house", "url": service, "index": "products"}}
    done = evaluate(example, agent)
    assert done.returncode == 0, done.stderr
    case = json.loads(done.stdout)["agents"]["mine"]["cases"]["c1"]
    assert [(hit["id"], hit["score"]) for hit in case["hits"]] == [("zebra.md", 2.5), ("cart.md", 0.5)]
    lines = [line.split() for line in searchmark(example, "doctor").stdout.splitlines() if "searchmark-house" in line]
    assert sorted(words[:3] for words in lines) == [
        ["ready", "format", "house"],
        ["ready", "measure", "HalfLife"],
        ["ready", "preset", "house"],
    ]


HOUSE_FILE = ("evaluate", "--gold-set", "gold.house", "--run", "run.trec", "-m", "HalfLife@10", "-o", "-")


@pytest.fixture
def house_files(example: Path) -> Path:
    Path("gold.house").write_text("#house\nc1|zebra.md|2\nc1|cart.md|1\nc1|login.md|0\n")
    Path("run.trec").write_text("c1 Q0 cart.md 1 3.0 mine\nc1 Q0 login.md 2 2.0 mine\nc1 Q0 zebra.md 4 1.0 mine\n")
    return example


@pytest.mark.slow
def test_the_example_package_reads_its_format_and_computes_its_measure(house_files: Path) -> None:
    done = searchmark(house_files, *HOUSE_FILE)
    assert done.returncode == 0, done.stderr
    (agent,) = json.loads(done.stdout)["agents"].values()
    assert agent["measures"]["HalfLife@10"]["mean"] == pytest.approx(1 + 0.5 ** (2 / 3))


@pytest.mark.slow
@pytest.mark.parametrize("told", ["--no-exec", "config"])
def test_no_exec_knows_no_format_and_no_measure_of_others(told: str, house_files: Path) -> None:
    """What their import would print is not there either."""
    module = house_files / "searchmark_house.py"
    module.write_text(module.read_text() + '\nprint("imported")\n')
    if told == "config":
        Path("searchmark.yaml").write_text("evaluation: {no_exec: true}\n")
    flags = ("--no-exec",) if told == "--no-exec" else ()
    of_format = searchmark(house_files, *HOUSE_FILE, *flags)
    of_measure = searchmark(house_files, *HOUSE_FILE[:1], "--gold-set", "gold.json", *HOUSE_FILE[3:], *flags)
    assert (of_format.returncode, of_measure.returncode) == (4, 4)
    assert "HalfLife" in of_measure.stderr
    assert "imported" not in of_format.stderr + of_measure.stderr
    assert "imported" in searchmark(house_files, *HOUSE_FILE, "--no-config").stderr


@pytest.mark.parametrize("use", USES)
def test_no_exec_loads_none(use: str, site: Path) -> None:
    done = evaluate(site, USES[use], *DOCUMENT_FOLDER, "--no-exec")
    assert (done.returncode, done.stdout) == (4, "")
    assert "not built in, and --no-exec allows built-in agents only" in done.stderr
    assert not (site / "trace").exists()


@pytest.mark.slow
def test_no_exec_in_a_config_loads_none(site: Path) -> None:
    Path("searchmark.yaml").write_text("evaluation: {no_exec: true}\nagents: [{name: mine, source: last-file}]\n")
    done = searchmark(site, "evaluate", "--gold-set", "gold.json", "--agent", "mine", *DOCUMENT_FOLDER)
    assert (done.returncode, (site / "trace").exists()) == (4, False)


@pytest.fixture
def plugin(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same package in this process."""
    monkeypatch.syspath_prepend(str(site))
    yield site
    sys.modules.pop("their_search", None)


def test_while_plug_ins_are_forbidden_none_is_loaded_by_any_way(plugin: Path) -> None:
    with plugins_forbidden():
        assert plugins("presets") == {}
        for kind in ("agents", "embedders", "indexes", "presets"):
            for each in installed_plugins(kind):
                with pytest.raises(UsageError, match=r"is a plug-in \(their_search 1.2\), and --no-exec allows none"):
                    each.load_checked()
        with pytest.raises(UsageError, match="--no-exec allows none"):
            create_agent(load_agent("last-file"))
    assert not (plugin / "trace").exists()


@pytest.mark.parametrize(
    "config",
    [
        {"embedder": "letters"},
        {"embedder": {"name": "letters"}, "index": "first-rows"},
        {"embedder": "hashing", "index": "first-rows"},
    ],
)
def test_an_agent_of_ours_with_code_of_others_is_kept_apart_as_theirs_is(plugin: Path, config: dict[str, object]) -> None:
    """Its cache is not ours, a sandbox shows it no history, and our process does not load it to know that."""
    assert has_foreign_code(load_agent("semantic", **config))
    assert has_foreign_code(load_agent("hybrid", arms=[{"name": "semantic", "config": config}]))
    assert not has_foreign_code(load_agent("semantic", embedder="hashing"))
    assert not (plugin / "trace").exists()


def test_a_preset_of_others_makes_an_agent_that_runs_their_code(plugin: Path) -> None:
    assert has_foreign_code(load_agent("http://127.0.0.1:1", preset="finder", index="products"))
    assert not has_foreign_code(load_agent("http://127.0.0.1:1", preset="solr", index="products"))


def test_names_of_ours_go_first(plugin: Path) -> None:
    create_agent(load_agent("bm25")).close()
    create_agent(load_agent("semantic", embedder="hashing")).close()
    assert not (plugin / "trace").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"embedder": "gone"}, r"the plug-in 'gone' \(embedders, their_search 1.2\) is not used: .*AttributeError"),
        ({"embedder": "wrong"}, r"their_search:LetterModel is not a subclass of .*\.EmbedderSettings"),
        ({"index": "wrong"}, r"their_search:LetterSettings is not a subclass of .*\.IndexSettings"),
        ({"embedder": {"name": "letters", "shuot": True}}, "embedder letters, shuot: is not a known field; did you mean 'shout'"),
        ({"embedder": "leters"}, "there is no embedder 'leters'; available: wordllama, .*hashing, gone, letters, wrong"),
        ({"index": "rows"}, "there is no index 'rows'; available: exact, hnsw, sqlite_vec, pgvector, first-rows, wrong"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(plugin: Path, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        create_agent(load_agent("semantic", **options))


@pytest.mark.parametrize(
    ("preset", "sentence"),
    [
        ("wrong", r"their_search:LetterModel is not an object of .*\.Engine"),
        ("none", "'none' is not a preset; there are elasticsearch, .*datasette, finder, wrong"),
    ],
)
def test_a_preset_that_cannot_be_used_is_one_sentence(plugin: Path, preset: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        create_agent(load_agent("http://127.0.0.1:1", preset=preset, index="products"))


@pytest.mark.parametrize("code", ["1 / 0", "raise SystemExit(0)", "import nothing_like_this", "class ("])
def test_a_plug_in_that_cannot_be_loaded_is_one_warning(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(install(tmp_path / "site", "broken_search", code, {"renderers": {"a": "x", "b": "y"}})))
    with pytest.warns(PluginWarning, match=r"the plug-in '[ab]' \(renderers, broken_search 1.2\) is not used: ") as found:
        assert plugins("renderers") == {}
    assert len(found) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plugins("renderers") == {}  # it is said once


def test_what_plug_ins_print_is_no_output_of_ours(plugin: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = find_plugin("presets", "finder")
    assert found is not None
    found.load_checked()
    assert capfd.readouterr() == ("", "this line belongs to no report\n")


def test_threads_that_load_plug_ins_at_once_leave_stdout_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"threaded_{number}" for number in range(1, 5)]
    for number, name in enumerate(
        names, 1
    ):  # the later ones take longer, so that each begins while another is at it and ends after that
        code = f"for found in range({number} * 500_000): pass"
        install(tmp_path / "site", name, code, {"agents": {name: "found"}})
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    stdout, start = sys.stdout, Barrier(len(names))

    def load(name: str) -> object:
        plugin = find_plugin("agents", name)
        start.wait()
        return plugin and plugin.load()

    with ThreadPoolExecutor(len(names)) as pool:
        assert all(pool.map(load, names))
    assert sys.stdout is stdout


@pytest.mark.slow
def test_a_found_config_names_what_is_installed_and_sets_none_of_its_options(site: Path) -> None:
    command = ("evaluate", "--gold-set", "gold.json", "--agent", "mine", *DOCUMENT_FOLDER, "-m", "RR")
    Path("searchmark.yaml").write_text("agents: [{name: mine, source: semantic, config: {embedder: letters}}]\n")
    assert searchmark(site, *command).returncode == 0
    Path("searchmark.yaml").write_text(f"agents: [{json.dumps(USES['embedders'])}]\n")
    done = searchmark(site, *command)
    assert done.returncode == 4
    assert "agents.0.config.embedder: holds options of an agent that is not built in, which only a config that you name may" in (
        done.stderr
    )


def test_a_sweep_varies_what_packages_add_without_loading_it(plugin: Path) -> None:
    choices = {"embedder": ["hashing", "letters"], "index": ["exact", {"name": "first-rows", "rows": [1, 2]}]}
    names = [setting.name for setting in grid_of(SweepSettings(choices)).settings]
    assert len(names) == 6
    assert not (plugin / "trace").exists()


@pytest.mark.slow
def test_the_list_of_agents_and_the_doctor_name_them(site: Path) -> None:
    listed = searchmark(site, "agents").stdout
    assert "last-file             their_search:LastFile, from their_search 1.2\n" in listed
    assert listed.count("\nbm25 ") + listed.startswith("bm25 ") == 1
    assert not (site / "trace").exists()
    done = searchmark(site, "doctor")
    said = {" ".join(words[1:3]): (words[0], " ".join(words[3:])) for words in map(str.split, done.stdout.splitlines())}
    assert said["agent last-file"] == ("ready", "their_search:LastFile, from their_search 1.2 (not tried)")
    assert said["embedder letters"] == ("ready", "their_search:LetterSettings, from their_search 1.2")
    assert said["index first-rows"] == ("ready", "their_search:FirstRowsSettings, from their_search 1.2")
    assert said["preset finder"] == ("ready", "their_search:engine, from their_search 1.2")
    assert said["embedder hashing"][0] == "missing"
    assert said["embedder hashing"][1].endswith("is not used: Searchmark has one of this name")
    assert said["embedder gone"][0] == "missing"
    assert "module 'their_search' has no attribute 'NotThere'" in said["embedder gone"][1]
    assert "this line belongs to no report" not in done.stdout


READS_OPENED_FILES = """
import sys
opened = []
sys.addaudithook(lambda event, values: opened.append(str(values[0])) if event == "open" else None)
from searchmark.cli.main import main
code = main(sys.argv[1:])
print(code, sum(name.endswith("entry_points.txt") for name in opened), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["--help", "evaluate --gold-set gold.json --run run.trec -m RR", "evaluate --help"])
def test_entry_points_are_not_looked_at_where_no_unknown_name_is_met(command: str, site: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(site)}
    program = [sys.executable, "-c", READS_OPENED_FILES, *command.split()]
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
    assert done.stderr.splitlines()[-1] == "0 0"
