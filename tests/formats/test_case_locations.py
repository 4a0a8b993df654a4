"""Where each case is searched follows from the suite and from what was said, without a command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import Case, Document, FieldMapping, Judgment, Suite
from searchmark.corpora.case_locations import Where, locations_of, snapshots_of, where_of
from searchmark.corpora.locations import Commit, Documents, Folder, Remote
from searchmark.errors import UsageError
from searchmark.options.corpus_choice import FileChoice
from tests.support.small_histories import FILE, write_history

TREES = [{b"app.py": (FILE, b"%d\n" % number)} for number in range(4)]
OPTIONS = {"kinds": ["code"], "exclude_patterns": ["*.min.js"]}


@pytest.fixture
def shop(tmp_path: Path) -> tuple[Path, list[str]]:
    return tmp_path / "shop", write_history(tmp_path / "shop", TREES)


def suite_of(*cases: Case, **metadata: object) -> Suite:
    return Suite.from_cases("s", cases, metadata=metadata)


def mined(commits: list[str], repository: str = "shop") -> Suite:
    """Cases of the commits 3 and 1, in this order; the second names no parent in full."""
    judged = (Judgment("app.py", "path"),)
    fields = [{"parent_commit": commits[2]}, {"parent_commit": commits[0][:12]}]
    cases = [Case(f"c{3 - 2 * i}", "x", judged, fields=each) for i, each in enumerate(fields)]
    return suite_of(*cases, repositories={"shop": {"path": repository}}, options=OPTIONS)


def test_one_location_is_that_of_every_case_and_of_no_other(tmp_path: Path) -> None:
    located = locations_of(suite_of(Case("b"), Case("a")), Where(corpus=str(tmp_path)))
    assert list(located) == ["b", "a"]
    assert list(located.values()) == [located["a"]] * 2
    assert located.get("c") is None
    with pytest.raises(KeyError, match="c"):
        located["c"]


def test_a_corpus_is_for_all_cases(tmp_path: Path) -> None:
    located = locations_of(suite_of(Case("a"), Case("b")), Where(corpus=str(tmp_path), mapping=("id=asin",)))
    assert located == dict.fromkeys("ab", Folder(tmp_path.name, tmp_path.resolve(), FieldMapping(id="asin")))


def test_documents_that_cases_bring_along_are_searched_case_by_case() -> None:
    red, blue = (Document("1", "red"),), (Document("1", "blue"),)
    located = locations_of(suite_of(Case("a", documents=red), Case("b", documents=blue), Case("c", documents=red)), Where())
    assert located == {"a": Documents.of("s", red), "b": Documents.of("s", blue), "c": Documents.of("s", red)}
    digests = [location.identity for location in located.values()]
    assert digests == sorted(digests)


def test_parents_are_visited_along_the_history_with_the_candidates_of_the_gold_set(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    suite = mined(commits, str(folder))
    assert snapshots_of(suite, Where()) == ["parent"]
    located = locations_of(suite, Where(), "parent")
    assert list(located.items()) == [
        ("c1", Commit("shop", folder, commits[0], ("code",), ("*.min.js",))),
        ("c3", Commit("shop", folder, commits[2], ("code",), ("*.min.js",))),
    ]


def test_folders_of_tools_that_were_committed_are_left_out_and_no_ignore_brings_them_back(tmp_path: Path) -> None:
    names = (b"app.py", b"web/node_modules/x.js", b"my env/pyvenv.cfg", b"my env/lib/a.py")
    write_history(tmp_path / "shop", [dict.fromkeys(names, (FILE, b"x\n"))])
    found = {}
    for ignore in (True, False):
        where = Where(repositories=(str(tmp_path / "shop"),), files=FileChoice(ignore=ignore))
        location = locations_of(suite_of(Case("a")), where, "head")["a"]
        assert isinstance(location, Commit)
        found[ignore] = ({each.id for each in location.open()}, location.exclude, location.digest == location.commit)
    assert found == {
        True: ({"app.py"}, ("**/node_modules/**", "./my env/**"), False),
        False: ({name.decode() for name in names}, (), True),
    }


@pytest.mark.parametrize(("snapshot", "number"), [("head", 3), ("HEAD~2", 1)])
def test_a_revision_is_the_same_for_all_cases(snapshot: str, number: int, shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    located = locations_of(mined(commits, str(folder)), Where(candidates="all"), snapshot)
    assert set(located.values()) == {Commit("shop", folder, commits[number])}


@pytest.mark.parametrize("snapshot", ["worktree", None])
def test_the_work_tree_is_a_folder(snapshot: str | None, shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    assert set(locations_of(mined(commits, str(folder)), Where(), snapshot).values()) == {Folder("shop", folder)}


def test_a_path_of_the_gold_set_is_found_from_where_the_gold_set_lies(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    located = locations_of(mined(commits, "shop"), Where(base=folder.parent), "head")
    assert {location.name for location in located.values()} == {"shop"}


def test_cases_without_a_repository_go_where_the_config_says(shop: tuple[Path, list[str]]) -> None:
    folder, _ = shop
    assert locations_of(suite_of(Case("a")), Where(repository_path=str(folder))) == {"a": Folder("shop", folder)}


def test_a_service_is_for_all_cases_and_nothing_asks_for_a_corpus(shop: tuple[Path, list[str]]) -> None:
    suite = mined(shop[1], "nowhere")
    assert snapshots_of(suite, Where(service="shop")) == [None]
    assert locations_of(suite, Where(service="shop")) == dict.fromkeys(["c3", "c1"], Remote("shop"))


SERVICE = Where(service="shop")


@pytest.mark.parametrize(
    ("where", "own", "searched"),
    [
        (Where(), True, SERVICE),
        (Where(), None, SERVICE),
        (Where(), False, Where()),
        (Where(corpus="docs"), True, Where(corpus="docs")),
        (Where(repositories=(".",)), True, Where(repositories=(".",))),
        (Where(repository_path="."), True, Where(repository_path=".")),
        (Where(repositories=(".",), snapshots=("head",)), True, SERVICE),
        (Where(repositories=(".",), snapshots=("head",)), None, Where(repositories=(".",), snapshots=("head",))),
        (Where(repositories=(".",), snapshots=("v1", "worktree")), True, Where(repositories=(".",), snapshots=("worktree",))),
        (Where(service="other"), True, Where(service="other")),
    ],
)
def test_an_agent_with_a_corpus_of_its_own_is_asked_for_none(where: Where, own: bool | None, searched: Where) -> None:
    assert where_of(suite_of(Case("a")), where, "shop", own_corpus=own) == searched


def test_a_service_is_never_at_the_parents_of_a_gold_set(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    suite, named = mined(commits, str(folder)), Where(repositories=(str(folder),))
    assert [where_of(suite, where, "shop", own_corpus=True) for where in (Where(), named)] == [SERVICE, SERVICE]
    assert [where_of(suite, where, "shop", own_corpus=None) for where in (Where(), named)] == [Where(), named]


def test_documents_of_a_suite_are_what_hits_of_a_service_are_checked_against() -> None:
    suite = suite_of(Case("a", documents=(Document("d", "text"),)))
    assert where_of(suite, Where(), "shop", own_corpus=True) == Where()


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (Where(), "there is nothing to search"),
        (Where(corpus="a", repositories=("b",)), "--corpus and --repo both name what to search"),
        (Where(mapping=("id=x",)), "it needs --corpus"),
        (Where(repositories=(".", "..")), "two repositories have no name; give each a name of its own: --repo NAME=PATH"),
        (Where(repositories=("a=.", "a=..")), "duplicate repository name 'a'"),
        (Where(repositories=("nowhere",)), "nowhere is not a folder"),
        (Where(repositories=("x=",)), "'x=' is not a repository"),
        (Where(service="shop", corpus="a"), "the service 'shop' searches what it has"),
        (Where(service="shop", snapshots=("head",)), "the service 'shop' searches what it has"),
    ],
)
def test_what_cannot_be_meant_is_refused(where: Where, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        locations_of(suite_of(Case("a")), where)


def test_a_case_without_a_commit_has_no_parent(shop: tuple[Path, list[str]]) -> None:
    with pytest.raises(UsageError, match="the case 'a' names no commit"):
        locations_of(suite_of(Case("a")), Where(repositories=(str(shop[0]),)), "parent")
