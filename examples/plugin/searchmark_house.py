"""What the search of this house needs beyond Searchmark: a measure, the format of its judgments, and the engine that it asks."""

from searchmark import MeasureDefinition, Suite
from searchmark.agents.outside.presets import Engine, Preset
from searchmark.agents.outside.results import ResultFormat
from searchmark.formats import SuiteFormat


def half_life(hits, *, k=None, rel=1):
    """A value per case: each relevant hit counts half as much as one that is three ranks higher."""
    relevant = hits.relevant(rel, k)
    return hits.per_case(relevant, 0.5 ** ((hits.rank[relevant] - 1) / 3))


HalfLife = MeasureDefinition(
    "HalfLife",
    half_life,
    "relevant hits, each worth half as much three ranks further down",
    missing="only what was returned pays",
    parameters=("rel",),
    high=float("inf"),
)


def is_house_file(file):
    return file.text.startswith("#house")


def read_house_file(file):
    """A suite of lines such as ``red shoes|sku-17|2``: query, document and grade."""
    grades = {}
    for line in file.text.splitlines()[1:]:
        query, document, grade = line.split("|")
        grades.setdefault(query, {})[document] = int(grade)
    return Suite.from_grades(grades, name=file.name)


house_format = SuiteFormat("house", read=read_house_file, fits=is_house_file, about="lines of query|document|grade")


def ask_house(config):
    """One request of our search service, in the fields that the config of the agent names."""
    return Preset(
        url="/v2/{index}/find",
        method="GET",
        parameters={"text": "{query}", "limit": "{k}", "in": ",".join(config.fields) or "all"},
        results=ResultFormat(hits="found", id="sku", score="score", error="problem"),
    )


house_search = Engine(ask_house, requires=("index",))
