"""Draw the commits that docs/gold-sets/ judges by hand: 30 that were kept and 15 that a rule with a will of its own removed.

    python benchmarks/judging_sample.py REPOSITORY COMMIT SEED [UNIT]

Rules that only count (merges, roots, commits without any code file) are left out of the second draw: they are never wrong
in an interesting way, and with them the figure would look better than it is.
"""

from __future__ import annotations

import sys

from searchmark import DatasetSettings
from searchmark.git.log import CommitRange, read_history
from searchmark.git.mining.drafts import Draft
from searchmark.git.mining.selection import CommitFilter, SelectedCommit, order_of_choice
from searchmark.git.repository import open_repository

KEPT, REMOVED = 30, 15
COUNTING = {"merge", "root", "empty", "no_code_file", "mode_only", "links_only", "shallow_boundary", "in_pull_request", "malformed"}


def main(path: str, commit: str, seed: str, unit: str = "commit") -> None:
    options = DatasetSettings(max_cases=1, sample="random", seed=int(seed), unit=unit)
    kept, removed, drafts = [], [], {}
    with open_repository(path) as repository:
        tip = repository.commit(commit)
        commits = CommitFilter(repository, options, tip, (None, None))
        for found in read_history(repository, CommitRange(tip, merges=unit != "commit")):
            draft, rule = commits.verdict(found)
            if isinstance(draft, Draft) and rule not in COUNTING:
                (kept if rule is None else removed).append(SelectedCommit(found.hash, b"", None, None, found.hash))
                drafts[found.hash] = (draft, rule)
    for name, pile, size in (("kept", kept, KEPT), ("removed", removed, REMOVED)):
        print(f"== {name}: {size} of {len(pile)}")
        for one in list(order_of_choice(pile, options))[:size]:
            draft, rule = drafts[one.hash]
            print(
                f"{one.hash} {rule or ''}\n  query: {draft.query.clean}\n  files: {', '.join(t.path for t in draft.reachable[:8])}"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
