"""Where in somebody's code an error arose: calls by file, line and name, those of ours trimmed off.

The lines themselves are not shown: the file may hold what nobody else should see, and whoever wrote it has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from searchmark.services.excerpts import end_of, excerpt_of

LONGEST_TRACEBACK = 4000
FRAMES_SHOWN = 20  # of each error, the innermost ones
CAUSES_SHOWN = 3
_LONGEST_CAUSE = 300
_OURS = str(Path(__file__).resolve().parents[2])  # the package
_NOBODYS = "<frozen "  # the machinery of imports


def traceback_of(error: BaseException) -> str | None:
    """The calls that led to an error, the innermost last; above them those of the error that caused it, with its words."""
    parts: list[str] = []
    for each in _causes(error):
        calls = _calls(each)
        if each is not error and calls:
            parts += [*calls, excerpt_of(error_text(each), _LONGEST_CAUSE), "which led to:"]
        else:
            parts += calls
    return end_of("\n".join(parts), LONGEST_TRACEBACK) or None


def error_text(error: BaseException) -> str:
    """What an error is and says; one that fails to say anything is somebody's code too."""
    try:
        said = str(error)
    except Exception as failure:  # noqa: BLE001  # it may raise anything
        said = f"(its text cannot be read: {type(failure).__name__})"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def place_of(error: BaseException) -> str | None:
    """The innermost line of somebody's code that an error came through, as file and line; None if there is none."""
    frames = [frame for each in _causes(error) for frame in _frames(each.__traceback__) if not _is_ours(frame)]
    if not frames:
        return None
    return f"{frames[-1].tb_frame.f_code.co_filename}, line {frames[-1].tb_lineno}"


def from_their_code(trace: TracebackType | None) -> TracebackType | None:
    """The calls from the first one into somebody's code on; all of them where there is none."""
    first = trace
    while first is not None and (_is_ours(first) or _file(first).startswith(_NOBODYS)):
        first = first.tb_next
    return first or trace


def _causes(error: BaseException) -> list[BaseException]:
    """The error behind what caused it, the first cause first."""
    chain, here = [error], error
    while len(chain) <= CAUSES_SHOWN:
        cause = here.__cause__ or (None if here.__suppress_context__ else here.__context__)
        if cause is None or cause in chain:
            break
        chain.append(cause)
        here = cause
    return chain[::-1]


def _calls(error: BaseException) -> list[str]:
    """From the first call into somebody's code on; where all of it is ours, as with our own agents, all but the worker's own."""
    frames = list(_frames(error.__traceback__))
    first = next((place for place, frame in enumerate(frames) if not _is_ours(frame)), None)
    shown = frames[first:] if first is not None else [frame for frame in frames if "/running/" not in _file(frame)]
    return [f'File "{_file(each)}", line {each.tb_lineno}, in {each.tb_frame.f_code.co_name}' for each in shown[-FRAMES_SHOWN:]]


def _frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        if not _file(trace).startswith(_NOBODYS):
            yield trace
        trace = trace.tb_next


def _file(frame: TracebackType) -> str:
    return frame.tb_frame.f_code.co_filename


def _is_ours(frame: TracebackType) -> bool:
    return _file(frame).startswith(_OURS)
