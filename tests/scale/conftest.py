"""What the runs on clusters share: repositories and a gold set, the run of one process, and a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.executors.ending import until
from tests.scale.clusters import THREE_WORKERS, Cluster, known_workers, started
from tests.support.scaled_runs import Work, comparable, make_work


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return make_work(tmp_path_factory.mktemp("work"), 80)


@pytest.fixture(scope="session")
def alone(work: Work) -> dict[str, str]:
    """The run of one process."""
    out = work.folder / "alone"
    ran = work.run(work.comparison(out))
    assert ran.returncode == 0, ran.stderr
    return comparable(out)


@pytest.fixture(scope="session")
def three_workers(work: Work) -> Iterator[Cluster]:
    """A cluster that nobody ends parts of. It has a cache of its own, as a machine of its own would."""
    cache = str(work.folder / "cache of the cluster")
    with started(work.folder, workers=THREE_WORKERS, SEARCHMARK_CACHE=cache) as cluster:
        until(lambda: known_workers(cluster) == 3)
        yield cluster
