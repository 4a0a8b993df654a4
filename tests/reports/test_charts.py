"""Charts: what they show is what the report says, for everybody who styles, and nothing in them obeys a stranger."""

from __future__ import annotations

import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import resvg_py

from searchmark import Chart, Report, UsageError, read_report, write_charts
from searchmark.reports import charts
from searchmark.reports.charts import CHARTS, ChartPicture, insert_charts, write_charts_beside
from searchmark.reports.page.pictures import COLOURS, HATCHES, SHAPES, Box, Dot, Group, Mark
from searchmark.reports.render import write_report
from searchmark.reports.report import AgentSummary
from searchmark.reports.sweep import MeanValue, Sweep, SweepRow, SweepSuite, write_sweep
from searchmark.scoring.costs import Latency
from tests.reports.chart_reports import agent, latency, point, report, summary, trend
from tests.reports.samples import HOSTILE, comparison_of, report_of

pytestmark = pytest.mark.slow  # drawing takes a second each

EVIL = HOSTILE + r" $\frac{1}{0}$ \input{/etc/passwd} </text></svg> ￾"
SVG = "{http://www.w3.org/2000/svg}"


def full_report(name: str = "bm25", category: str = "typo", suite: str = "demo") -> Report:
    """A report that every chart has something for."""
    values = {"nDCG@10": [0.0, 0.5, 1.0], "F1@10": [0.05, 0.35, 0.3]}
    segments = {"category": {category: {"nDCG@10": summary(0.4, 12)}, "exact": {"nDCG@10": summary(0.9, 5, None)}}}
    slow, fast = agent(values, cold=[9.0, 9.0, 9.0], warm=[2.0, 4.0, 60.0]), agent(values, warm=[0.5, 0.6, 0.7])
    agents = {name: replace(slow, segments=segments), "fast": replace(fast, segments=segments)}
    return replace(report(**agents), suite=replace(report().suite, name=suite), trends=(trend(name),))


def picture_of(name: str, made: Report) -> ChartPicture:
    picture = CHARTS[name](made)
    assert picture is not None
    return picture


def marks_of(picture: ChartPicture) -> list[Mark]:
    """All marks of the first plane, out of their groups."""
    marks = picture.panels[0].marks
    return [each for mark in marks for each in (mark.marks if isinstance(mark, Group) else [mark])]


def texts_of(path: Path) -> list[str]:
    return [each.text or "" for each in ET.parse(path).iter(f"{SVG}text")]  # noqa: S314  # ours


def names(charts: list[Chart]) -> list[str]:
    return [chart.name for chart in charts]


def test_every_chart_is_written_as_svg_and_png(tmp_path: Path) -> None:
    charts = write_charts(full_report(), tmp_path / "charts")

    assert names(charts) == list(CHARTS)
    assert [file.name for file in charts[0].files] == ["f1_distribution.svg", "f1_distribution.png"]
    assert sorted(path.name for path in (tmp_path / "charts").iterdir()) == sorted(f.name for c in charts for f in c.files)
    assert all(file.read_bytes().startswith((b"<?xml", b"\x89PNG")) for chart in charts for file in chart.files)


def test_one_format_may_be_enough(tmp_path: Path) -> None:
    assert [file.suffix for chart in write_charts(comparison_of(), tmp_path, ["png"]) for file in chart.files] == [".png"] * 3


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no chart format 'pdf'; available: svg, png"):
        write_charts(comparison_of(), tmp_path, ["pdf"])


def test_what_a_report_lacks_has_no_chart(tmp_path: Path) -> None:
    assert names(write_charts(report(a=agent({"RR": [0.5]})), tmp_path)) == ["f1_distribution"]
    assert names(write_charts(report(a=agent({"RR": [None]})), tmp_path)) == []
    assert names(write_charts(report(), tmp_path)) == []


def test_a_chart_that_an_earlier_report_left_is_removed(tmp_path: Path) -> None:
    write_charts(full_report(), tmp_path)
    (tmp_path / "mine.png").touch()
    write_charts(report(a=agent({"RR": [0.5]})), tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["f1_distribution.png", "f1_distribution.svg", "mine.png"]


def test_charts_are_the_same_bytes_when_drawn_again(tmp_path: Path) -> None:
    first, second = (write_charts(full_report(), tmp_path / name) for name in ("a", "b"))

    assert [file.read_bytes() for chart in first for file in chart.files] == [
        file.read_bytes() for chart in second for file in chart.files
    ]


def test_a_report_read_from_a_file_has_the_same_charts(tmp_path: Path) -> None:
    made = comparison_of()
    write_report(made, tmp_path / "report.json")
    first, second = write_charts(made, tmp_path / "a"), write_charts(read_report(tmp_path / "report.json"), tmp_path / "b")

    assert [(chart.title, chart.alt) for chart in first] == [(chart.title, chart.alt) for chart in second]
    assert [f.read_bytes() for chart in first for f in chart.files] == [f.read_bytes() for chart in second for f in chart.files]


def test_bars_are_as_high_as_the_cases_in_each_bin_are_many() -> None:
    picture = picture_of("f1_distribution", full_report())

    assert [each.height for each in marks_of(picture) if isinstance(each, Box) and each.kind == "bar"] == [50, 0, 0, 100] + [0] * 6
    assert [tick.text for tick in picture.panels[0].y_ticks] == ["0", "2"]


def test_units_n_and_intervals_are_in_the_labels(tmp_path: Path) -> None:
    charts = {chart.name: texts_of(chart.files[0]) for chart in write_charts(full_report(), tmp_path)}

    assert "Distribution of F1@10: demo" in charts["f1_distribution"]
    assert "bm25: mean 0.2333 (0.1833 to 0.2833), n = 3 cases" in charts["f1_distribution"]
    assert "bm25: p50 4 ms, p95 60 ms, n = 3 searches" in charts["latency_distribution"]
    assert "warm latency of a search in ms, log scale   (solid line p50, dashed line p95)" in charts["latency_distribution"]
    assert "bm25: 0.5000 (0.4500 to 0.5500) at 4 ms, n = 3" in charts["accuracy_vs_latency"]
    assert "typo  (n = 12)" in charts["category_bars"]
    assert "mean nDCG@10   (whiskers: 95 % intervals, where there are enough cases)" in charts["category_bars"]
    assert "bm25: 0.6000 in the last of n = 4 runs" in charts["trend"]


def test_the_finding_is_said_in_words(tmp_path: Path) -> None:
    alts = {chart.name: chart.alt for chart in write_charts(full_report(), tmp_path, ["svg"])}

    assert alts["latency_distribution"].startswith("Distribution of the warm latency. fast has the lowest median. bm25: p50 4 ms")
    assert alts["accuracy_vs_latency"].endswith(
        "Best: bm25, 0.5000 (0.4500 to 0.5500) at 4 ms. Fastest: fast, 0.5000 (0.4500 to 0.5500) at 0.6 ms. "
        "On the frontier: fast; beaten in both: bm25."
    )
    assert "bm25: lowest typo 0.4000 (0.3500 to 0.4500), n = 12, highest exact 0.9000, n = 5" in alts["category_bars"]
    assert alts["trend"] == "nDCG@10 run by run, the oldest first. bm25: nDCG@10 is worse since run-4."


@pytest.mark.parametrize(
    ("measures", "title"),
    [
        (("nDCG@10", "F1@5"), "Distribution of F1@5"),
        (("nDCG@10", "F1"), "Distribution of F1"),
        (("Judged@10", "RR"), "Distribution of RR"),
    ],
)
def test_the_title_says_which_measure_is_distributed(measures: tuple[str, ...], title: str) -> None:
    picture = picture_of("f1_distribution", report(a=agent({name: [0.5] for name in measures})))

    assert picture.title == title


def test_a_report_without_categories_is_split_by_what_it_has() -> None:
    segments = {"tag": {"slow": {"RR": summary(0.5)}}}
    picture = picture_of("category_bars", report(a=replace(point(0.5, None, measure="RR"), segments=segments)))

    assert picture.title == "RR by tag"


def test_of_many_categories_those_with_most_cases_are_drawn() -> None:
    segments = {"category": {f"c{n}": {"RR": summary(0.5, n + 1)} for n in range(30)}}
    made = report(a=replace(point(0.5, None, measure="RR"), segments=segments))
    labels = [tick.text for tick in picture_of("category_bars", made).panels[0].y_ticks]

    assert (len(labels), labels[0], labels[-1]) == (20, "c29  (n = 30)", "c10  (n = 11)")


def test_of_many_runs_the_first_are_drawn_and_the_title_says_so() -> None:
    picture = picture_of("f1_distribution", report(**{f"r{n}": agent({"F1": [0.5]}) for n in range(20)}))

    assert len(picture.panels) == 12
    assert picture.title == "Distribution of F1 (the first 12 of 20 runs)"
    assert picture.alt.endswith("; and 14 more.")


def test_runs_are_told_apart_without_colour() -> None:
    assert len({(COLOURS[row % len(COLOURS)], HATCHES[row % len(HATCHES)]) for row in range(24)}) == 24
    assert len(set(HATCHES)) == 7
    assert len(set(SHAPES)) == len(set(COLOURS)) == 8


def test_every_run_is_drawn_in_its_own_colour_hatch_and_shape(tmp_path: Path) -> None:
    charts = {chart.name: chart.files[0].read_text() for chart in write_charts(full_report(), tmp_path, ["svg"])}

    assert all(f'<path fill="{COLOURS[1]}"' in charts[name] for name in ["accuracy_vs_latency"])
    assert SHAPES[1] in charts["accuracy_vs_latency"]
    assert charts["category_bars"].count('fill="url(#hatch-1)"') == charts["category_bars"].count(f'fill="{COLOURS[1]}"') == 3


def test_whoever_is_beaten_in_both_is_hollow() -> None:
    picture = picture_of("accuracy_vs_latency", report(good=point(0.9, 1.0), bad=point(0.5, 2.0)))

    assert [(each.kind, each.run) for each in marks_of(picture) if isinstance(each, Dot)] == [("dot", 0), ("ring", 1)]


def test_a_run_whose_name_begins_with_an_underscore_is_in_the_legend(tmp_path: Path) -> None:
    charts = {chart.name: chart for chart in write_charts(full_report("_private"), tmp_path)}

    assert "_private" in texts_of(charts["category_bars"].files[0])


def test_what_a_picture_shows_is_said_inside_of_it(tmp_path: Path) -> None:
    for chart in write_charts(full_report(), tmp_path):
        svg, png = chart.files
        tree = ET.parse(svg).getroot()  # noqa: S314  # ours
        assert tree.findtext(f"{SVG}title") == f"{chart.title}: demo"
        assert tree.findtext(f"{SVG}desc") == chart.alt
        assert f"Title\0\0\0\0\0{chart.title}: demo".encode() in png.read_bytes()
        assert f"Description\0\0\0\0\0{chart.alt}".encode() in png.read_bytes()


def test_a_png_is_whole(tmp_path: Path) -> None:
    """Every chunk has its checksum, and the last one is the end of the picture."""
    content = write_charts(full_report(), tmp_path)[0].files[1].read_bytes()
    kinds, at = [], 8
    while at < len(content):
        size = int.from_bytes(content[at : at + 4], "big")
        kinds.append(content[at + 4 : at + 8])
        assert zlib.crc32(content[at + 4 : at + 8 + size]) == int.from_bytes(content[at + 8 + size : at + 12 + size], "big")
        at += size + 12

    assert (kinds[:3], kinds[-1], at) == ([b"IHDR", b"iTXt", b"iTXt"], b"IEND", len(content))


def test_a_chart_has_letters_also_on_a_machine_without_fonts(tmp_path: Path) -> None:
    """The font that comes along is asked for first, so that the same pixels come from it alone."""
    svg, png = write_charts(full_report(), tmp_path)[0].files
    font = Path(charts.__file__).with_name("SearchmarkSans.ttf")
    bare, without = (
        bytes(resvg_py.svg_to_bytes(svg_string=svg.read_text(), zoom=2, skip_system_fonts=True, font_files=fonts))
        for fonts in ([str(font)], [])
    )

    assert bare[33:] in png.read_bytes()
    assert without != bare


@pytest.mark.parametrize("times", [(0.0, 0.0), (0.0, 1e9), (3.0, 3.0)])
def test_times_at_the_ends_of_the_scale_are_drawn(times: tuple[float, float], tmp_path: Path) -> None:
    values = {"RR": [0.5]}
    made = report(a=agent(values, warm=[times[0]]), b=agent(values, warm=[times[1]]))

    assert names(write_charts(made, tmp_path)) == ["f1_distribution", "latency_distribution", "accuracy_vs_latency"]


def test_unanswered_cases_are_counted_beside_the_histogram(tmp_path: Path) -> None:
    (chart,) = write_charts(report_of(by=()), tmp_path, ["svg"])

    assert "agent (untrusted): mean 0.5000, n = 2 cases, 1 undefined" in texts_of(chart.files[0])


def test_a_run_that_cannot_be_relied_on_is_marked_in_every_chart_and_in_words(tmp_path: Path) -> None:
    made = full_report()
    untrusted = replace(made, agents=made.agents | {"bm25": replace(made.agents["bm25"], status="untrusted")}, trends=())
    for chart in write_charts(untrusted, tmp_path, ["svg"]):
        assert any("bm25 (untrusted)" in text for text in texts_of(chart.files[0])), chart.name
        assert "bm25 (untrusted)" in chart.alt


def test_hostile_names_are_inert_in_svg(tmp_path: Path) -> None:
    name, category, suite = "\x1b[31m\u202e\ufffe\udcff<script>", "</text></svg><script>", "--> ]]> & \uffff"
    for chart in write_charts(full_report(name, category, suite), tmp_path, ["svg"]):
        content = chart.files[0].read_text(encoding="utf-8")
        tree = ET.fromstring(content)  # noqa: S314  # ours
        tags = {each.tag.removeprefix(SVG) for each in tree.iter() if each.tag.startswith(SVG)}
        assert not tags & {"script", "a", "foreignObject", "image", "animate", "set"}
        assert all(value.startswith("#") for each in tree.iter() for key, value in each.items() if key.endswith("href"))
        assert not [key for each in tree.iter() for key in each.attrib if key.startswith("on")]
        assert not [char for char in content if char in "\x1b\u202e\ufffe\uffff"]
        assert any(r"\x1b[31m\u202e\ufffe\udcff<script>" in text for text in texts_of(chart.files[0]))


def test_a_name_of_any_length_is_drawn(tmp_path: Path) -> None:
    assert names(write_charts(full_report(EVIL * 100, EVIL * 100, EVIL * 100), tmp_path)) == list(CHARTS)


def test_a_name_is_never_read_as_mathematics(tmp_path: Path) -> None:
    charts = write_charts(full_report(r"$\frac{1}{0}$ \input{x}"), tmp_path)

    for chart in charts:
        assert any(r"$\frac{1}{0}$ \input{x}" in text for text in texts_of(chart.files[0])), chart.name


def test_letters_that_no_font_has_are_no_failure(tmp_path: Path) -> None:
    assert len(write_charts(full_report("検索 \U0001f50d \U000e0fff"), tmp_path)) == len(CHARTS)


def test_a_secret_of_the_environment_is_in_no_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "s3cr3t-of-the-house-42")
    charts = write_charts(full_report(*["s3cr3t-of-the-house-42"] * 3), tmp_path)

    assert not [file for chart in charts for file in chart.files if b"s3cr3t" in file.read_bytes()]
    assert not [chart for chart in charts if "s3cr3t" in chart.alt + chart.title]


def test_resvg_is_loaded_when_a_png_is_made_and_not_before(tmp_path: Path) -> None:
    write_report(comparison_of(), tmp_path / "report.json")
    code = (
        "import sys, searchmark; searchmark.write_charts(searchmark.read_report('report.json'), 'charts', ['svg']); "
        "print('resvg_py' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


WITHOUT_RESVG = "import sys; sys.modules['resvg_py'] = None; from searchmark.cli.main import main; sys.exit(main(sys.argv[1:]))"
SENTENCE = "no charts: resvg is not installed; install the extra: pip install 'searchmark[charts]'"


@pytest.fixture
def suite_and_run(tmp_path: Path) -> list[str]:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    (tmp_path / "bm25.run").write_text("q1 Q0 d1 1 2.0 bm25\nq2 Q0 d3 1 1.0 bm25\n")
    return ["--gold-set", "qrels.txt", "--run", "bm25.run", "-m", "F1"]


def searchmark(folder: Path, *arguments: str, code: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code] if code else [sys.executable, "-m", "searchmark"]
    return subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_without_resvg_the_report_is_written_and_a_sentence_says_what_to_install(tmp_path: Path, suite_and_run: list[str]) -> None:
    done = searchmark(tmp_path, "evaluate", *suite_and_run, "--charts", "-o", "out.md", code=WITHOUT_RESVG)

    assert done.returncode == 0
    assert done.stderr.splitlines()[-2:] == ["written: out.md", SENTENCE]
    assert "## Charts" not in (tmp_path / "out.md").read_text()
    assert not (tmp_path / "out-charts").exists()


def test_without_resvg_the_library_says_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(UsageError, match="pip install 'searchmark\\[charts\\]'"):
        write_charts(comparison_of(), tmp_path)
    assert len(write_charts(comparison_of(), tmp_path, ["svg"])) == 3


def test_charts_are_written_beside_a_markdown_report_that_shows_them(tmp_path: Path, suite_and_run: list[str]) -> None:
    done = searchmark(tmp_path, "evaluate", *suite_and_run, "--charts", "-o", "my out.md", "-o", "out.json")

    assert done.stderr.splitlines()[-1] == "written: my out-charts/: f1_distribution"
    assert (tmp_path / "my out.md").read_text().endswith(
        "## Charts\n\n### Distribution of F1\n\n[![Distribution of F1 over the cases. bm25: mean 0.5000, 50% of 2 cases below 0.1, "
        "50% from 0.9 on.](my%20out-charts/f1_distribution.png)](my%20out-charts/f1_distribution.svg)\n"
    )  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "my out-charts").iterdir()) == ["f1_distribution.png", "f1_distribution.svg"]


def test_a_config_that_wants_visualizations_is_obeyed(tmp_path: Path, suite_and_run: list[str]) -> None:
    (tmp_path / "config.yaml").write_text("output: {directory: out, formats: [json, markdown], generate_visualizations: true}\n")
    done = searchmark(tmp_path, "evaluate", *suite_and_run, "--config", "config.yaml")

    assert done.stderr.splitlines()[-1] == "written: out/report-charts/: f1_distribution"
    assert "report-charts/f1_distribution.png" in (tmp_path / "out" / "report.md").read_text()


def test_a_config_that_wants_visualizations_and_no_markdown_draws_none(tmp_path: Path, suite_and_run: list[str]) -> None:
    (tmp_path / "config.yaml").write_text("output: {directory: out, formats: [json], generate_visualizations: true}\n")
    done = searchmark(tmp_path, "evaluate", *suite_and_run, "--config", "config.yaml")

    assert (done.returncode, [path.name for path in (tmp_path / "out").iterdir()]) == (0, ["report.json"])


def test_charts_without_a_report_to_show_them_are_refused_before_any_work(tmp_path: Path, suite_and_run: list[str]) -> None:
    done = searchmark(tmp_path, "evaluate", *suite_and_run, "--charts", "-o", "out.json")

    assert done.returncode == 4
    assert "--charts draws charts for a Markdown report, and none is written; add -o report.md" in done.stderr
    assert not (tmp_path / "out.json").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "out-charts").touch()
    with pytest.raises(UsageError, match=r"out-charts.* cannot be written"):
        write_charts_beside(comparison_of(), tmp_path / "out.md")


def test_hostile_titles_are_inert_in_markdown(tmp_path: Path) -> None:
    chart = Chart("x", f"{EVIL} title", f"{EVIL} ](javascript:alert(1))", (tmp_path / "a b](x).png",))
    text = insert_charts("# report\n", [chart], tmp_path)

    assert text.count("<") == text.count(r"\<") > 0
    assert r"\]" in text
    assert "](a%20b%5D%28x%29.png)" in text
    assert len(text.splitlines()) == 7


def test_a_report_without_charts_is_shown_as_it_is(tmp_path: Path) -> None:
    assert insert_charts("# report\n", [], tmp_path) == "# report\n"


def test_latencies_of_runs_that_were_not_watched_are_left_out() -> None:
    watched: AgentSummary = replace(agent({"RR": [0.5]}, warm=[3.0]), latency_ms={"warm": latency(3.0, 1)})
    picture = picture_of("latency_distribution", report(a=agent({"RR": [0.5]}), b=watched))

    assert picture.alt == "Distribution of the warm latency. b: p50 3 ms, p95 9 ms, n = 1 search."


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_sweep_is_drawn_with_its_settings_by_number(suffix: str, tmp_path: Path) -> None:
    times = [Latency(ms, ms, ms, ms, 5, 0) for ms in (2.0, 9.0)]
    rows = (
        SweepRow(
            "half <b>",
            {},
            measures={"RR": MeanValue(0.5, 0.4, 0.6, 5)},
            ann_k=10,
            ann_recall=0.8,
            cold_ms=times[0],
            on_frontier=True,
        ),
        SweepRow(
            "whole",
            {},
            True,
            measures={"RR": MeanValue(0.7, 0.6, 0.8, 5)},
            ann_k=10,
            ann_recall=1.0,
            cold_ms=times[1],
            on_frontier=True,
        ),
    )
    sweep = Sweep(SweepSuite("s", 5, None), "semantic", {}, "RR", 0.01, 10, "end to end, cold", 0, rows, None, "none is as good")
    write_sweep(sweep, str(tmp_path / f"sweep.{suffix}"))
    content = (tmp_path / f"sweep.{suffix}").read_bytes()

    if suffix == "png":
        assert content.startswith(b"\x89PNG")
        return
    said = texts_of(tmp_path / "sweep.svg")
    assert {"Sweep of semantic: s", "1: half <b>", "2: whole", "1", "2 baseline", "RR   (up is better)"} <= set(said)
    assert "recall@10 of neighbours   (up is better)" in said
