"""``searchmark evaluate``."""

from __future__ import annotations

import click

from searchmark.cli._archive import Kept, archive_options, archived
from searchmark.cli._corpus import survey_of, texts_of_hits, with_fields_of_targets
from searchmark.cli._debugging import debugged, refuse_with_debug
from searchmark.cli._gates import GateOutcome, baseline_file, gate_options, say_what_is_foreseen, with_gates_of, with_next_step
from searchmark.cli._groups import (
    NamedSuite,
    ReportChoice,
    SavedRuns,
    config_option,
    measures_wanted,
    refuse_several_agents,
    told_by,
)
from searchmark.cli._live import (
    LiveOptions,
    live_options,
    one_agent,
    only_agent,
    refuse_live_options,
    run_shown,
    wanted_cases,
    with_corpus,
)
from searchmark.cli._options import HOW_TO_RUN, OUTPUT, WHAT_TO_RUN, option, option_group, precedence
from searchmark.cli._output import STDOUT, charts_wanted, deliver, github_step, now, output_files
from searchmark.cli._plan import show_plan
from searchmark.cli._variadic import VariadicCommand
from searchmark.config import Config
from searchmark.errors import UsageError
from searchmark.files.meanwhile import Meanwhile
from searchmark.options.report_options import ReportOptions
from searchmark.runs.cut import narrowed

EITHER = "name either the agent to run (--agent) or the saved run to score (--run)"


@click.command(
    "evaluate",
    cls=VariadicCommand,
    short_help="Run an agent on a suite, or score a saved run.",
    epilog=precedence("evaluation", "num_runs"),
)
@option_group(NamedSuite, "named", WHAT_TO_RUN)
@option(
    WHAT_TO_RUN,
    "--agent",
    metavar="NAME",
    show_default="suite.agent of the config, that of the suite's header, or the only one of the config",
    help="Agent to run: a name that 'searchmark agents' lists, module:Class, command:ARGV, mcp:ARGV, or an http address.",
)
@option(
    WHAT_TO_RUN,
    "--mode",
    metavar="NAME",
    show_default="the only one, or that of the suite's header",
    help="Which of the agent's modes to ask it in; the config lists them. Without --agent also the name of an agent.",
)
@option_group(SavedRuns, "saved", WHAT_TO_RUN)
@config_option(WHAT_TO_RUN, "defaults and agents")
@live_options
@option_group(ReportChoice, "wanted", OUTPUT)
@option_group(ReportOptions, "detail", OUTPUT)
@option(OUTPUT, "--per-case", is_flag=True, help="Print the value of every case, as trec_eval -q does, instead of the report.")
@option(
    HOW_TO_RUN,
    "--debug",
    is_flag=True,
    help="Ask one case (the first, or the one that -k leaves) in this process: breakpoint() and prints work. Not isolated.",
)
@archive_options
@gate_options
def command(
    named: NamedSuite,
    agent: str | None,
    mode: str | None,
    saved: SavedRuns,
    config: Config,
    live: LiveOptions,
    wanted: ReportChoice,
    detail: ReportOptions,
    per_case: bool,
    debug: bool,
    kept: Kept,
    gates: GateOutcome,
) -> int:
    """Run an agent on a suite, or score a saved run.

    Several saved runs are taken as the shards of one.

    \b
    searchmark evaluate --gold-set suite.yaml --agent bm25 --corpus docs/ -o out.json
    searchmark evaluate --gold-set gold_set.json --agent my.module:Agent --repo . --timeout 5
    searchmark evaluate --gold-set symbols.json --config lookup.yaml --agent lookup --mode fts5 --category 1
    searchmark evaluate --gold-set qrels.txt --run bm25.run -m nDCG@10 -m MRR -o out.json
    searchmark evaluate --gold-set suite.yaml --agent my.module:Agent --corpus docs/ -k q17 --debug
    """
    from searchmark.experiments import evaluate_run

    if per_case and STDOUT in wanted.outputs:
        raise UsageError("--per-case and -o - both print to stdout; give one of them")
    if debug:
        refuse_with_debug(wanted.outputs, live.save_run, saved.run_paths)
    time, (source, config) = now(), named.chosen(config)
    files, github = output_files(wanted.outputs, config.output), github_step(wanted.github, source.path)
    charts = charts_wanted(wanted.charts, config.output, files)
    asked = measures_wanted(wanted.measures, config)
    if agent and saved.run_paths:
        raise UsageError(EITHER)
    runs = Meanwhile(lambda: saved.load(live.where.mapping))
    suite, setup = source.load(live.where.mapping)
    if not (agent or mode or saved.run_paths) and (config.suite.agent or not setup.agent):
        agent = only_agent(config)
        if agent is None:
            raise UsageError(EITHER)
    live = with_corpus(live, setup, config)
    config = with_gates_of(setup, config)
    rules = gates.rules(config, asked)
    if len(live.where.snapshots) > 1:
        raise UsageError("evaluate takes one snapshot; compare takes several: --snapshot parent --snapshot head")
    baseline = gates.baseline(config, rules, asked)
    searched = live.searched(config, told_by(source, saved, files))
    suite = with_fields_of_targets(suite, wanted.splits, rules, searched)
    if gates.bisect and not rules and not baseline.rules:
        raise UsageError("--bisect needs a rule that tells good from bad: --fail-under, --gate, or a section 'gates' in the config")
    archive = kept.in_use(config, by_default=not saved.run_paths and not gates.bisect)
    if debug or (live.dry_run and not saved.run_paths):
        spec = one_agent(agent, mode, setup, config, live)
        experiment = live.experiment(suite, (spec,), config, told_by(source, saved, files))
        return debugged(experiment, asked) if debug else show_plan(experiment)
    if not saved.run_paths:
        say_what_is_foreseen(suite, rules, baseline, config, gates.looks(config, rules), searched)
        specs = (one_agent(agent, mode, setup, config, live),)
        told = [*told_by(source, saved, files), *kept.hidden(suite, searched, config)]
        ran = run_shown(live.experiment(suite, specs, config, told), live.save_run)
        suite, parts, survey = ran.suite, list(ran.runs), ran.survey
    else:
        refuse_live_options()
        parts = runs.result()
        refuse_several_agents(parts, source.path, saved.run_paths)
        whole, suite = suite, wanted_cases(suite, live.cases, live.options(config).seed)
        parts = narrowed(parts, whole, suite)
        survey = survey_of(suite, searched)
    report = evaluate_run(
        suite,
        parts,
        asked,
        by=wanted.splits,
        rules=rules,
        baseline=baseline,
        looks=gates.looks(config, rules),
        options=config.compare,
        corpus=survey,
        detail=detail,
        versions=config.versions,
        text_of=texts_of_hits(detail, suite, searched, parts),
    )
    saved_runs = saved.run_paths or ((live.save_run,) if live.save_run else ())
    report = with_next_step(report, source.path, saved_runs, baseline_file(config, gates.against))
    report = archived(report, parts, archive)
    on_stdout = STDOUT in wanted.outputs
    return deliver(report, files, time, json_on_stdout=on_stdout, per_case=per_case, charts=charts, github=github)
