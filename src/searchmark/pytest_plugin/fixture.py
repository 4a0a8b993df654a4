"""What the fixture ``searchmark`` offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from searchmark import testing
from searchmark.options.gate_options import GateOptions
from searchmark.options.run_options import RunOptions
from searchmark.records import Run, Suite
from searchmark.registry import spec_of_suite
from searchmark.testing.searches import AnyPath, gate_options_of


@dataclass(frozen=True)
class SearchFixture:
    """The functions of `searchmark.testing`, with paths from the folder of the test on."""

    folder: Path

    precision_at_k = staticmethod(testing.precision_at_k)
    recall_at_k = staticmethod(testing.recall_at_k)
    reciprocal_rank = staticmethod(testing.reciprocal_rank)
    ndcg_at_k = staticmethod(testing.ndcg_at_k)
    all_metrics = staticmethod(testing.all_metrics)
    check_agent = staticmethod(testing.check_agent)

    def assert_search(
        self,
        agent: Any,
        suite: Suite | AnyPath,
        gates: GateOptions | Mapping[str, Any],
        corpus: AnyPath | None = None,
        baseline: Run | AnyPath | None = None,
        *,
        options: RunOptions = RunOptions(),
    ) -> None:
        """As `searchmark.testing.assert_search`."""
        __tracebackhide__ = True
        agent = spec_of_suite(agent, folder=self.folder, trusted=True) if isinstance(agent, str) else agent
        suite = suite if isinstance(suite, Suite) else self.folder / suite
        corpus = None if corpus is None else self.folder / corpus
        baseline = baseline if baseline is None or isinstance(baseline, Run) else self.folder / baseline
        testing.assert_search(agent, suite, self._beside(gate_options_of(gates)), corpus, baseline, options=options)

    def _beside(self, gates: GateOptions) -> GateOptions:
        return gates if gates.baseline is None else replace(gates, baseline=str(self.folder / gates.baseline))
