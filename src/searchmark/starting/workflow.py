"""The text of a CI workflow, every step with the reason why it is there."""

from __future__ import annotations

from searchmark.starting.config_text import CONFIG, FirstConfig
from searchmark.starting.project import RESULTS

WORKFLOW = ".github/workflows/search-quality.yml"
# By commit, as docs/ci.md has them: a tag can be moved to other code.
CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"
SETUP_PYTHON = "actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0"
UPLOAD = "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0"


def workflow_text(config: FirstConfig) -> str:
    """The file for GitHub Actions."""
    evaluate = config.commands[0][0]
    depth = (
        "the whole history: every case is searched in the files before its commit"
        if config.mined
        else "the whole history: cases and baselines may name commits"
    )
    own = (
        "      # What your own search needs belongs here as well: it runs on this machine.\n"
        if config.agents.needs_naming or config.agents.code
        else ""
    )
    return f"""\
# Fails a pull request that makes search worse; written by 'searchmark init', and yours to change.
name: Search quality

on: [pull_request]

# It reads the code and nothing else, so that a pull request cannot use it to write.
permissions:
  contents: read

jobs:
  search:
    runs-on: ubuntu-latest
    steps:
      # The files of the pull request. fetch-depth: 0 is {depth}.
      # No credentials are left for the steps below, which run what the pull request brings.
      - uses: {CHECKOUT}
        with:
          fetch-depth: 0
          persist-credentials: false
      # A known Python, so that builds of today and of next year measure alike.
      - uses: {SETUP_PYTHON}
        with:
          python-version: "3.12"
      # Name a version (searchmark==X.Y.Z), and a new release changes no number before you have looked at it.
{own}      - run: python -m pip install searchmark
      # Runs the agent on the suite and checks the gate of {CONFIG}: exit code 1, a red build, means that search got worse,
      # 2 that the result cannot be trusted. --github puts the report on the page of the build. The saved run can become a baseline.
      - run: |
          {evaluate} --github --save-run {RESULTS}/run.jsonl
      # Reports and answers are kept also where the gate failed: they show which cases got worse.
      - uses: {UPLOAD}
        if: always()
        with:
          name: search-quality
          path: {RESULTS}/
"""
