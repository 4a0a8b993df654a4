"""The way in: verbs, exit codes, and what is said when something goes wrong."""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys
import threading
import warnings
from _thread import interrupt_main
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TextIO

import click

from searchmark.cli import COMPLETION
from searchmark.cli.terminal import forget, verbosity_options, with_verbosity
from searchmark.errors import (
    EXIT_BISECT_SKIP,
    EXIT_GATE_FAILED,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    PluginWarning,
    SearchmarkError,
    os_error_sentence,
)

# Verb and the first line of its help, so that listing the verbs imports none of them.
VERBS = {
    "demo": "Show the main job in five commands, in under a minute.",
    "init": "Write a first config, suite and CI workflow for a project.",
    "generate": "Mine a gold set from the history of Git repositories.",
    "evaluate": "Run an agent on a suite, or score a saved run.",
    "compare": "Compare agents or saved runs on one suite, with evidence.",
    "merge": "Make one run of the shards that several machines have run.",
    "sweep": "Run one agent in many settings: recall, latency, and what a setting costs in relevance.",
    "audit": "Check whether scores on a suite, or published numbers, can mean anything.",
    "gate": "Check a saved run against the rules of a gate.",
    "baseline": "Show or update what runs are held against.",
    "approve": "Make what a run answered what a suite expects, case by case.",
    "report": "Show a report in another format, or in the browser.",
    "history": "List archived runs, show trends, remove old ones.",
    "label": "Grade the items of a catalogue for queries, by rules over its fields.",
    "suites": "List the suites that come with Searchmark, or show one.",
    "perturb": "Write a suite with variants of its queries, or find where words mislead.",
    "cases": "List the cases of a suite, show one, or decide about one.",
    "convert": "Write a suite, a suite with its corpus, or a saved run in another format.",
    "agents": "List the agents, or show one with its options.",
    "measures": "List every measure with its definition.",
    "docs": "List the topics of the documentation, or print one.",
    "completion": "Print a script that completes commands in a shell.",
    "doctor": "Say what is ready to use and what is missing.",
}

ASKING = ("evaluate", "compare", "sweep")  # the verbs that run agents

BISECTING = ("evaluate", "gate")  # the verbs with --bisect

LONGEST_SENTENCE = 2000


# Where the process ends anyway, looking for cycles among all that is left takes a tenth of the time of an evaluation.
atexit.register(gc.freeze)

ALIASES = {"metrics": "measures"}


class LazyGroup(click.Group):
    """A group that imports ``searchmark.cli.verbs.<verb>`` only when that verb is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(VERBS)

    def invoke(self, ctx: click.Context) -> Any:
        from searchmark.io.text import redirect_notes

        with redirect_notes(_note), _plugin_warnings_as_sentences():
            return super().invoke(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # as above
        from searchmark.cli.options import with_no_exec, with_user_paths

        verb = ALIASES.get(cmd_name, cmd_name)
        if verb not in VERBS:
            return None
        command: click.Command = import_module(f"searchmark.cli.verbs.{verb}").command
        return with_verbosity(with_user_paths(with_no_exec(command)))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # as above
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"searchmark {version('searchmark')}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version.")
def app() -> None:
    """Measure search quality: is it good, did it get worse, is the expensive option worth it?

    Exit codes: 0 pass, 1 quality gate failed, 2 result untrusted, 3 internal error, 4 usage error,
    5 nothing evaluated, 130 interrupted.
    """


app.params += verbosity_options()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        try:
            _end_like_ctrl_c()
            if arguments is None:
                _handle_every_ctrl_c()
            if arguments is None and (verb := _verb(sys.argv[1:])) in ASKING:
                from searchmark.running.worker.process_tree import hide_arguments

                hide_arguments(f"searchmark {verb}")
            return _exit_code(arguments)
        except KeyboardInterrupt:
            return _interrupted(last_words=arguments is None)
    except KeyboardInterrupt:  # again, before the first was dealt with
        return _interrupted(last_words=arguments is None)


def _interrupted(*, last_words: bool) -> int:
    """Say so. Where the process ends with it, a second Ctrl-C has nothing left to stop, and would only show a traceback."""
    if last_words and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with suppress(OSError):
        click.echo("searchmark: interrupted", err=True)
    return EXIT_INTERRUPTED


def _run(arguments: Sequence[str] | None) -> int:
    """Run a verb. Whatever an interrupt was turned into on its way, by an import that it broke for one, is an interrupt again."""
    if COMPLETION in os.environ:
        from searchmark.cli.verbs.completion import register

        register()
    try:
        code = app.main(args=arguments, prog_name="searchmark", standalone_mode=False)
    except Exception as error:
        if isinstance(error, click.Abort) or _follows_interrupt(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        forget()  # for the next command of this process
    return code if isinstance(code, int) else EXIT_OK


def _note(sentence: str) -> None:
    from searchmark.cli.output import tell

    tell(f"searchmark: note: {sentence}", LONGEST_SENTENCE)


@contextmanager
def _plugin_warnings_as_sentences() -> Iterator[None]:
    """What is said of a plug-in that is not used names no file of ours."""
    otherwise = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        from searchmark.cli.output import tell

        if issubclass(category, PluginWarning):
            tell(f"searchmark: {message}", LONGEST_SENTENCE)
        else:
            otherwise(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _follows_interrupt(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _exit_code(arguments: Sequence[str] | None) -> int:
    code = _plain_exit_code(arguments)
    words = sys.argv[1:] if arguments is None else arguments
    if _is_bisecting(words) and (code not in (EXIT_OK, EXIT_GATE_FAILED, EXIT_INTERRUPTED) or {"-h", "--help"} & {*words}):
        return EXIT_BISECT_SKIP
    return code


def _verb(words: Sequence[str]) -> str | None:
    """The verb, which -q and -v may come before."""
    return next((each for each in words if not each.startswith("-")), None)


def _is_bisecting(words: Sequence[str]) -> bool:
    """Whether 'git bisect run' waits for the answer; to a wrong use of the option too, since it takes most codes for bad."""
    return _verb(words) in BISECTING and any(each.partition("=")[0] == "--bisect" for each in words)


def _plain_exit_code(arguments: Sequence[str] | None) -> int:
    try:
        return _run(arguments)
    except click.ClickException as error:
        return _show_usage(error)
    except SystemExit:
        # Click's own way out when whoever reads the help has seen enough; its code 1 would mean a failed gate.
        return EXIT_OK
    except SearchmarkError as error:
        return _say(str(error), error.exit_code)
    except OSError as error:
        return _say(os_error_sentence(error), EXIT_USAGE)
    except Exception as error:
        if os.environ.get("SEARCHMARK_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}"
        return _say(f"internal error: {what} (set SEARCHMARK_DEBUG=1 to see where, and please report it)", EXIT_INTERNAL)


def _end_like_ctrl_c() -> None:
    """SIGTERM, which systems and CI send, ends us as Ctrl-C does: everything is put away first."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, interrupt)


def _handle_every_ctrl_c() -> None:
    """One that meets code which cannot raise it comes again a moment later; Python would print a traceback, and go on."""
    otherwise = sys.unraisablehook

    def report(unraisable: Any) -> None:
        if unraisable.exc_type is KeyboardInterrupt:
            again = threading.Timer(0.05, interrupt_main)  # not in here, where it could not be raised either
            again.daemon = True
            again.start()
        else:
            otherwise(unraisable)

    sys.unraisablehook = report


def _show_usage(error: click.ClickException) -> int:
    """What click has to say, which quotes the command line."""
    from searchmark.cli.output import tell

    message = io.StringIO()
    error.show(message)
    for line in message.getvalue().splitlines():
        tell(line)
    return EXIT_USAGE


def _say(sentence: str, code: int) -> int:
    from searchmark.cli.output import tell

    tell(f"searchmark: {sentence}", LONGEST_SENTENCE)
    return code
