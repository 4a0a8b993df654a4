"""Published numbers: every rule fires on a table that no ranking gives, and none fires on a table that one gave."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil, comb, isnan, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import FormatError, Run, Suite, UsageError, match_hits, score
from searchmark.audit.check import all_kinds
from searchmark.audit.claim_table import read_claims
from searchmark.audit.claims import MOST_STEPS, check_claims, claims_table, most_lost
from searchmark.cli.main import main
from searchmark.records.finding import CLAIMS
from searchmark.scoring.statistics import mean_intervals

MEASURES = ["P@1", "P@3", "P@5", "P@10", "P", "R@1", "R@3", "R@5", "R@10", "R", "F1@1", "F1@5", "F1@10", "F1", "RR@1", "RR@3"]
MEASURES += ["RR@10", "RR", "Success@1", "Success@3", "Success@5", "Success@10", "Success", "Acc@3", "Acc@10", "AP@10", "AP"]
MEASURES += ["nDCG@5", "nDCG@10", "RBP", "Bpref", "Rprec"]
ROUNDINGS = (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_DOWN)

CLAIM_CODES = [kind.code for kind in all_kinds().values() if kind.theme == CLAIMS]

# For every code a table that must make it fire.
IMPOSSIBLE = {
    "claim-outside-range": "name,n,nDCG@10\na,24,1.31\n",
    "claim-precision-above-hit-rate": "name,n,P@10,HitRate@10\na,24,35 %,30 %\n",
    "claim-precision-below-hit-rate": "name,n,P@10,HitRate@10\na,50,0.05,0.90\n",
    "claim-rr-above-hit-rate": "name,n,MRR@10,HitRate@10\na,50,0.45,0.40\n",
    "claim-rr-below-hit-rate": "name,n,MRR,HitRate@5\na,50,0.10,0.90\n",
    "claim-above-hit-rate": "name,n,Recall@10,HitRate@10\na,50,0.95,0.90\n",
    "claim-part-above-whole": "name,n,Acc@10,R@10\na,50,0.60,0.50\n",
    "claim-first-rank": "name,n,P@1,MRR@1\na,50,0.40,0.44\n",
    "claim-hit-rate-falls": "name,n,Hit@5,Hit@10\na,50,0.60,0.50\n",
    "claim-recall-falls": "name,n,R@5,R@10\na,50,0.60,0.50\n",
    "claim-rr-falls": "name,n,RR@5,RR\na,50,0.60,0.50\n",
    "claim-precision-counts": "name,n,P@5,P@10\na,50,0.80,0.30\n",
    "claim-no-count": "name,n,HitRate@10\na,24,30 %\n",
    "claim-no-rank-sum": "name,n,RR@10\na,24,0.99\n",
    "claim-f1": "name,n,P,R,F1\na,50,0.50,0.50,0.60\n",
    "claim-difference-too-small": "name,n,Hit@5\na,50,0.60\nb,50,0.50\n",
    "claim-difference-open": "name,n,Hit@5\na,50,0.70\nb,50,0.54\n",
    "claim-interval": "name,n,P@10,P@10 low,P@10 high\na,50,0.50,0.55,0.60\n",
    "claim-interval-narrow": "name,n,Hit@10,Hit@10 low,Hit@10 high\na,50,0.50,0.48,0.52\n",
    "claim-p-too-small": "name,n,nDCG@10,vs,p\na,5,0.9,b,0.001\nb,5,0.1,,\n",
    "claim-without-n": "name,P@10\na,0.35\n",
    "claim-read-as-per-cent": "name,n,P@10\na,24,35\n",
    "claim-columns-skipped": "name,n,P@10,Latency\na,24,0.35,7\n",
}


def codes(folder: Path, table: str, name: str = "table.csv") -> list[str]:
    path = folder / name
    path.write_text(table)
    return [found.code for found in check_claims(read_claims(path))]


def message(folder: Path, table: str, code: str) -> str:
    path = folder / "table.csv"
    path.write_text(table)
    return next(found.message for found in check_claims(read_claims(path)) if found.code == code)


@pytest.mark.parametrize("code", CLAIM_CODES)
def test_every_code_fires_on_a_table_that_breaks_its_rule(code: str, tmp_path: Path) -> None:
    assert code in codes(tmp_path, IMPOSSIBLE[code])


def test_every_table_has_a_code() -> None:
    assert IMPOSSIBLE.keys() == set(CLAIM_CODES)


def rounded(number: float, decimals: int, how: str) -> str:
    return str(Decimal(repr(number)).quantize(Decimal(1).scaleb(-decimals), rounding=how))


def true_means(seed: int, cases: int, documents: int = 12) -> dict[str, float]:
    """The means of all measures over random rankings, some of them short or empty, of cases with random targets."""
    chance = random.Random(seed)
    names = [f"d{number}" for number in range(documents)]
    share = chance.choice((0.05, 0.2, 0.5, 0.95))
    grades = {f"q{row}": {name: chance.choice((0, 1)) if chance.random() < share else 0 for name in names} for row in range(cases)}
    answers = {}
    for case, graded in grades.items():
        order = sorted(names, key=lambda name: chance.random() - chance.choice((0, 0.8)) * graded[name])  # called here
        kept = order[: chance.choice((0, 1, 3, 5, 10, 12))]
        answers[case] = {name: float(documents - at) for at, name in enumerate(kept)}
    return score(match_hits(Suite.from_grades(grades), Run.from_scores(answers)), MEASURES).means()


def printed_table(means: dict[str, float], n: int, decimals: int, how: str, *, per_cent: bool) -> str:
    scale, sign = (100, " %") if per_cent else (1, "")
    cells = [f"{rounded(mean * scale, decimals, how)}{sign}" for mean in means.values()]
    return f"name,n,{','.join(means)}\nrun,{n},{','.join(cells)}\n"


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(0, 4), st.sampled_from(ROUNDINGS), st.booleans())
def test_no_table_of_real_rankings_is_flagged(seed: int, cases: int, decimals: int, how: str, per_cent: bool) -> None:
    folder = Path(_FOLDER[0])
    table = printed_table(true_means(seed, cases), cases, decimals, how, per_cent=per_cent)
    assert codes(folder, table) == []


_FOLDER: list[str] = []


@pytest.fixture(autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    _FOLDER[:] = [str(tmp_path_factory.mktemp("claims"))]


@pytest.mark.slow
@pytest.mark.parametrize("decimals", range(5))
@pytest.mark.parametrize("per_cent", [True, False])
def test_many_true_tables_are_not_flagged(decimals: int, per_cent: bool, tmp_path: Path) -> None:
    for seed in range(80):
        means = true_means(seed, 1 + seed % 60)
        for how in ROUNDINGS:
            assert codes(tmp_path, printed_table(means, 1 + seed % 60, decimals, how, per_cent=per_cent)) == []


@pytest.mark.slow
def test_every_small_ranking_keeps_to_the_relations(tmp_path: Path) -> None:
    """All pairs of relevance patterns of three ranks and up to two targets that were not returned, by brute force."""
    patterns = [(hits, missed) for hits in product((0, 1), repeat=3) for missed in range(3)]
    for one, other in combinations_with_replacement(patterns, 2):
        grades, answers = {}, {}
        for case, (hits, missed) in (("a", one), ("b", other)):
            targets = [f"d{at}" for at, hit in enumerate(hits) if hit] + [f"missed{number}" for number in range(missed)]
            grades[case] = dict.fromkeys(targets, 1) | {f"d{at}": 0 for at, hit in enumerate(hits) if not hit}
            answers[case] = {f"d{at}": float(-at) for at in range(3)}
        means = score(match_hits(Suite.from_grades(grades), Run.from_scores(answers)), MEASURES).means()
        assert codes(tmp_path, printed_table(means, 2, 3, ROUND_HALF_UP, per_cent=False)) == []


def test_the_published_precision_above_its_hit_rate_is_said_in_the_words_of_the_table(tmp_path: Path) -> None:
    said = message(tmp_path, "name,n,P@10,HitRate@10\nSymbols,23,35 %,30 %\n", "claim-precision-above-hit-rate")
    assert said == "Symbols: P@10 35 % is above HitRate@10 30 %"


def test_shares_that_fit_23_cases_and_not_24_are_said_so(tmp_path: Path) -> None:
    said = message(tmp_path, "name,n,Hit@10,Hit@20\na,24,30 %,95 %\n", "claim-no-count")
    assert "30 % is not a share of 24 cases: 7/24 = 0.2917, 8/24 = 0.3333 (all shares with n = 24 fit n = 23)" in said
    assert "claim-no-count" not in codes(tmp_path, "name,n,Hit@10,Hit@20\na,23,30 %,95 %\n")


@pytest.mark.parametrize("cell", ["95 %", "95.8 %", "95.83 %", "0.96", "0.958", "0.9583"])
def test_a_share_may_be_rounded_or_truncated(cell: str, tmp_path: Path) -> None:
    assert codes(tmp_path, f"name,n,Hit@10\na,24,{cell}\n") == []


@pytest.mark.parametrize("cell", ["95.9 %", "0.957", "0.97"])
def test_a_share_next_to_a_possible_one_is_not_possible(cell: str, tmp_path: Path) -> None:
    assert codes(tmp_path, f"name,n,Hit@10\na,24,{cell}\n") == ["claim-no-count"]


@pytest.mark.parametrize(
    "table",
    ['name;n;P@10;HitRate@10\na;24;"0,35 [0,30; 0,40]";0,30\n', "name;n;P@10;HitRate@10\na;1,000;0.35;0.30\n"],
)
def test_semicolons_part_cells_and_commas_may_be_decimal(table: str, tmp_path: Path) -> None:
    assert "claim-precision-above-hit-rate" in codes(tmp_path, table)


def test_a_decimal_comma_keeps_its_digits(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("name;n;P@10\na;24;0,350\n")
    ((claim,),) = (row.claims for row in read_claims(path).rows)
    assert (claim.value.text, claim.value.value) == ("0.350", Fraction(35, 100))


def test_precision_counts_hits_and_not_cases(tmp_path: Path) -> None:
    assert codes(tmp_path, "name,n,P@10\na,24,0.3000\n") == []
    assert codes(tmp_path, "name,n,P@10\na,24,0.3018\n") == ["claim-no-count"]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("name,n,P@10,HitRate@10\na,50,0.30,0.30\n", []),
        ("name,n,P@10,HitRate@5\na,50,0.52,0.10\n", []),  # all further hits may be behind rank 5
        ("name,n,P@10,HitRate@5\na,50,0.60,0.10\n", ["claim-precision-above-hit-rate"]),
        ("name,n,MRR,HitRate@10\na,50,0.35,0.30\n", []),  # a hit at rank 11 still counts
        ("name,n,MRR,HitRate@10\na,50,0.40,0.30\n", ["claim-rr-above-hit-rate"]),
        ("name,n,P@5,P@10\na,50,0.20,0.60\n", []),
        ("name,n,P@5,P@10\na,50,0.20,0.70\n", ["claim-precision-counts"]),
        ("name,n,P,R,F1\na,50,0.50,0.50,0.10\n", []),  # a mean of F1 may be far below the F1 of means
        ("name,n,P,R,F1\na,50,0.90,0.90,0.70\n", ["claim-f1"]),
        ("name,n,P@5,R@5,F1@10\na,50,0.50,0.50,0.60\n", []),  # another cutoff
        ("name,n,P(rel=2)@10,HitRate@10\na,50,0.50,0.30\n", []),  # another lowest grade
        ("name,n,nDCG@10,HitRate@10\na,50,0.50,0.30\n", ["claim-above-hit-rate"]),  # a warning: lower grades may pay in nDCG
        ("name,n,nDCG@10,HitRate@5\na,50,0.50,0.30\n", []),
        ("name,n,nDCG@10,HitRate(rel=2)@10\na,50,0.50,0.30\n", []),
        ("name,n,Hit@5,MRR@5,Hit@1\na,100,0.60,0.41,0.20\n", []),
        ("name,n,Hit@5,MRR@5,Hit@1\na,100,0.60,0.43,0.20\n", ["claim-rr-above-hit-rate"]),
        ("name,n,Hit@5,MRR,P@1\na,100,0.60,0.46,0.20\n", []),  # and 0.4 of the cases at rank 6
        ("name,n,Hit@5,MRR,P@1\na,100,0.60,0.49,0.20\n", ["claim-rr-above-hit-rate"]),
        ("name,n,Hit@1,Hit@5,MRR@5\na,100,0.40,0.60,0.42\n", ["claim-rr-below-hit-rate"]),
        ("name,n,Hit@1,Hit@5,MRR@5\na,100,0.40,0.60,0.44\n", []),
        ("name,n,Hit@4,Hit@5,P@5\na,100,0.10,0.60,0.20\n", []),
        ("name,n,Hit@4,Hit@5,P@5\na,100,0.10,0.60,0.24\n", ["claim-precision-above-hit-rate"]),
        ("name,n,P@10,R@10\na,50,0.90,0.20\n", []),
        ("name,n,AP@10,R@10\na,50,0.40,0.30\n", ["claim-part-above-whole"]),  # a warning: AP@k may divide by at most k elsewhere
        ("name,n,AP@20,R@10\na,50,0.40,0.30\n", []),
        ("name,n,AP,R\na,50,0.40,0.30\n", ["claim-part-above-whole"]),
        ("name,n,DCG@10\na,50,7.31\n", []),
        ("name,n,Tau\na,50,-0.31\n", []),
        ("name,n,RR\na,24,0.99\n", ["claim-no-rank-sum"]),
        ("name,n,RR\na,24,0.98\n", []),
        ("name,n,RR@100\na,24,0.0001\n", ["claim-no-rank-sum"]),
        ("name,n,nDCG@10\na,50,-0.001\n", ["claim-outside-range"]),
        ("name,n,nDCG@10\na,50,1.00\n", []),
        ("name,n,nDCG@10\na,50,1.31\nb,50,0.35\n", ["claim-outside-range"]),
        ("name,n,P@10,p\na,50,0.5,1.2\n", ["claim-outside-range"]),
    ],
)
def test_near_misses(table: str, expected: list[str], tmp_path: Path) -> None:
    assert codes(tmp_path, table) == expected


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("name,n,Hit@5\na,50,0.70\nb,50,0.50\n", []),  # more than chance gives
        ("name,n,Hit@5\na,50,0.50\nb,50,0.50\n", []),
        ("name,n,nDCG@10\na,5,0.90\nb,5,0.10\n", ["claim-difference-too-small"]),  # five cases show nothing
        ("name,n,nDCG@10\na,135,0.5516\nb,135,0.5204\n", ["claim-difference-open"]),
        ("name,n,Hit@5\na,50,0.60\nb,100,0.50\n", []),  # not the same cases
        ("name,segment,n,Hit@5\na,x,50,0.60\nb,y,50,0.50\n", []),
        ("name,n,Hit@5,vs\na,50,0.90,c\nb,50,0.86,c\nc,50,0.20,\n", []),  # a and b are not compared
        ("name,n,nDCG@10,vs,p\na,50,0.60,b,0.03\nb,50,0.55,,\n", []),  # tested
    ],
)
def test_differences(table: str, expected: list[str], tmp_path: Path) -> None:
    assert codes(tmp_path, table) == expected


def test_top_k_accuracy_above_recall_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("name,n,Acc@5,Recall@5\na,100,0.80,0.55\n")
    (found,) = check_claims(read_claims(tmp_path / "table.csv"))
    assert (found.code, found.severity) == ("claim-part-above-whole", "warning")
    assert "asks for one of them is a hit rate and may be above" in found.why


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("name,n,Hit@5\na,50,0.60\nb,50,0.50\n", "gains less losses are at most 5 of 50 cases"),
        ("name,n,P@5\na,50,0.420\nb,50,0.400\n", "gains less losses are at most 5 of 250 hits"),
        ("name,n,RR@3\na,50,0.50000\nb,50,0.49\n", "gains less losses are at most 4.5 steps of 1/6 in 50 cases"),
        ("name,n,nDCG@10\na,5,0.90\nb,5,0.10\n", "5 cases cannot show any difference"),
    ],
)
def test_a_difference_that_is_too_small_is_told_as_the_net_of_gains_and_losses(table: str, said: str, tmp_path: Path) -> None:
    assert message(tmp_path, table, "claim-difference-too-small").endswith(f": {said}")


def test_no_gains_and_losses_with_a_net_of_five_cases_have_a_small_p() -> None:
    """McNemar's exact test, for all that up to 400 cases can do."""
    small = [
        (net, lost)
        for net in range(MOST_STEPS + 1)
        for lost in range((400 - net) // 2)
        if 40 * sum(comb(net + 2 * lost, each) for each in range(lost + 1)) < 2 ** (net + 2 * lost)
    ]
    assert small == []


def test_what_a_paired_test_needs_is_said(tmp_path: Path) -> None:
    said = message(tmp_path, "name,n,Hit@5\na,50,0.70\nb,50,0.54\n", "claim-difference-open")
    assert said.endswith("it shows only if the better one loses at most 2 cases")  # 10 against 2: p = 0.039; 11 against 3: 0.057


def least_p(total: int, biggest: int, moved: int) -> Fraction:
    """The least two-sided p of a randomisation test of means, over all ways in which so many cases add up to a total."""
    best = Fraction(1)
    for sizes in combinations_with_replacement(range(1, biggest + 1), moved):
        sums = [sum(sign * size for sign, size in zip(signs, sizes, strict=True)) for signs in product((1, -1), repeat=moved)]
        if total in sums:
            best = min(best, Fraction(sum(abs(each) >= total for each in sums), len(sums)))
    return best


@pytest.mark.slow
@pytest.mark.parametrize("moved", range(1, 11))
def test_no_way_to_move_by_five_steps_is_significant(moved: int) -> None:
    assert all(least_p(total, 3, moved) > Fraction(1, 20) for total in range(1, MOST_STEPS + 1))


def test_six_cases_that_moved_one_way_are_significant() -> None:
    assert least_p(MOST_STEPS + 1, 1, MOST_STEPS + 1) == Fraction(1, 32)


Limits = Callable[[int, int, random.Random], tuple[float, float]]


def wald(hits: int, n: int, _: random.Random) -> tuple[float, float]:
    half = 1.96 * sqrt(hits / n * (1 - hits / n) / n)
    return hits / n - half, hits / n + half


def wilson(hits: int, n: int, _: random.Random) -> tuple[float, float]:
    z, share = 1.96, hits / n
    centre, half = share + z * z / (2 * n), z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


def bootstrap(hits: int, n: int, chance: random.Random) -> tuple[float, float]:
    values = [1] * hits + [0] * (n - hits)
    means = sorted(sum(chance.choices(values, k=n)) / n for _ in range(400))
    return means[10], means[389]


def own(hits: int, n: int, _: random.Random) -> tuple[float, float]:
    (found,) = mean_intervals(np.array([[1.0]] * hits + [[0.0]] * (n - hits)), None, [(0.0, 1.0)])
    return found or (0.0, 1.0)


@pytest.mark.parametrize("limits", [wald, wilson, bootstrap, own])
def test_no_usual_interval_is_too_narrow(limits: Limits, tmp_path: Path) -> None:
    chance, found = random.Random(3), set()
    for n in (5, 10, 24, 50, 100):
        for hits in range(0, n + 1, ceil(n / 8)):
            low, high = limits(hits, n, chance)
            found |= set(codes(tmp_path, f"name,n,Hit@10,Hit@10 low,Hit@10 high\na,{n},{hits / n:.4f},{low:.4f},{high:.4f}\n"))
    assert found <= {"claim-outside-range"}


def test_an_interval_may_be_in_the_cell(tmp_path: Path) -> None:
    assert codes(tmp_path, 'name,n,Hit@10\na,50,"50 % [48 %, 52 %]"\n') == ["claim-interval-narrow"]


def test_a_table_in_per_cent_without_a_sign_is_read_so_and_said(tmp_path: Path) -> None:
    assert codes(tmp_path, "name,n,P@10,Hit@10\na,24,35,37.5\n") == ["claim-read-as-per-cent"]
    assert codes(tmp_path, "name,n,P@10 (%),Hit@10 %\na,24,35,37.5\n") == []


def test_what_may_be_shares_is_never_taken_for_per_cent(tmp_path: Path) -> None:
    assert codes(tmp_path, "name,n,nDCG@10\na,50,1.31\n") == ["claim-outside-range"]


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("name,n,P@10\na,24,35 %\nb,24,0.3\n", "line 3: P@10 has no % here, and elsewhere it has; write it everywhere"),
        ("name,n,P@10\na,24,good\n", "line 2: P@10 is 'good', not a number such as 0.35"),
        ("name,n,P@10\na,0,0.3\n", "line 2: n is '0', not a whole number from 1"),
        ("name,n,P@10\na,24\n", "line 2: has 2 columns, the header 3"),
        ("name,n,speed\na,24,3\n", "no column is a measure such as P@10"),
        ("name,n,P@10,Precision@10\na,24,0.3,0.3\n", "line 1: duplicate column: P@10 is there twice"),
        ("name,n\n", "holds no table"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_its_line(table: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=re.escape(reason)):
        codes(tmp_path, table)


def test_a_baseline_that_is_not_a_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"table\.csv, line 2: vs names 'x', but the other rows are b"):
        codes(tmp_path, "name,n,P@10,vs\na,24,0.30,x\nb,24,0.30,\n")


def test_tables_in_markdown_and_with_tabs_are_read(tmp_path: Path) -> None:
    markdown = (
        "# Results\n\n| **Model** | n | `P@10` | HitRate@10 |\n|---|---:|---|---|\n| **a** | 50 | **35 %** | 30 % |\n\nMore.\n"
    )
    assert codes(tmp_path, markdown, "table.md") == ["claim-precision-above-hit-rate"]
    assert codes(tmp_path, "name\tn\tP@10\tHit@10\na\t50\t0.36\t0.30\n", "table.tsv") == ["claim-precision-above-hit-rate"]


@pytest.mark.parametrize("cell", ["", "-", "n/a", "—"])
def test_a_cell_may_be_empty(cell: str, tmp_path: Path) -> None:
    assert codes(tmp_path, f"name,n,P@10,Hit@10\na,50,0.30,{cell}\n") == []


def test_the_numbers_are_shown_as_they_were_read(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("name,n,HitRate@10\na,24,30 %\nb,24,96 %\n")
    rows = claims_table(read_claims(tmp_path / "table.csv")).rows
    assert rows == (
        ("a", 24, "Success@10", "30 %", 0.295, 0.31, "none of 24"),
        ("b", 24, "Success@10", "96 %", 0.955, 0.97, "23 of 24"),
    )


def test_claims_alone_are_audited_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "table.csv").write_text("name,n,P@10,HitRate@10\nSymbols,50,35 %,30 %\n")
    assert main(["audit", "--claims", str(tmp_path / "table.csv"), "--strict", "-o", str(tmp_path / "audit.md")]) == 1
    assert "error claim-precision-above-hit-rate: Symbols: P@10 35 % is above HitRate@10 30 %" in capsys.readouterr().out
    assert (tmp_path / "audit.md").read_text().startswith("# Audit of published numbers\n")


def test_the_means_of_the_simulation_are_defined() -> None:
    assert not any(isnan(mean) for mean in true_means(1, 5).values())


@pytest.mark.parametrize("p", ["<0", "-1"])
def test_an_impossible_p_is_a_finding(p: str, tmp_path: Path) -> None:
    assert codes(tmp_path, f"name,n,MRR,p\na,50,0.5,{p}\n") == ["claim-p-too-small" if p == "<0" else "claim-outside-range"]


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (f'name,n,Hit@5\na,"1{",000" * 2000}",0.5\n', "not a whole number from 1 to 1,000,000,000,000"),
        (f"name,n,Hit@5\na,5,0.5 ({' ' * 100_000}x\n", "not a number such as 0.35"),
        (f"name,n,{','.join(f'P@{k}' for k in range(1, 200))}\na,9{',0' * 199}\n", "199 measures in 1 rows; at most 100 and"),
    ],
    ids=["n", "spaces", "measures"],
)
def test_what_would_take_for_ever_is_refused(table: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=re.escape(reason)):
        codes(tmp_path, table)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("name,n,P@99999999\na,999999999999,0.5\n", []),
        ("name,n,Hit@5\na,999999999999,0.12345678901234567891\n", ["claim-no-count"]),
        ("name,n,Hit@5\na,1000000000,0.50001\nb,1000000000,0.50000\n", ["claim-difference-open"]),
        (f"name,n,Hit@5,a{' ' * 100_000}x\na,10,0.5,1\n", ["claim-columns-skipped"]),
        ("name,n,Hit@5\na\u2028b,10,0.5\n", []),
    ],
    ids=["deep", "other n", "open", "header", "line separator"],
)
def test_what_is_large_or_odd_is_checked_at_once(table: str, expected: list[str], tmp_path: Path) -> None:
    assert codes(tmp_path, table) == expected
    claims_table(read_claims(tmp_path / "table.csv"))


@pytest.mark.parametrize("gained", [9, 60, 140])
def test_how_many_may_be_lost_is_nearly_the_same_for_the_normal_distribution(gained: int) -> None:
    exact, normal = most_lost(gained, 10_000), most_lost(gained, 10_001)
    assert exact is not None
    assert normal == pytest.approx(exact, rel=0.02, abs=1)
