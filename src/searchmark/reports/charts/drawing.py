"""From pictures to the bytes of files, with matplotlib: drawn by its objects, so that no state is shared with anyone's notebook."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from searchmark.reports.charts.picture import WIDTH, Picture, shown

DOTS_PER_INCH = 144
LONGEST_TITLE = 68

# Whoever draws has a file of settings; nothing in it may change a chart, least of all let LaTeX see a stranger's text.
SETTINGS: dict[str, Any] = {
    "text.usetex": False,
    "text.parse_math": False,
    "svg.fonttype": "none",  # texts stay texts, which can be searched and read aloud
    "svg.hashsalt": "searchmark",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8.5,
    "hatch.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
}
# Scripts that matplotlib's own font lacks; the first that is installed draws them.
FALLBACK_FONTS = ("Noto Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "Arial Unicode MS", "Hiragino Sans")
NOT_OURS = ("backend", "backend_fallback")


def lacking() -> str | None:
    """Why no chart can be drawn; None if nothing is missing."""
    try:
        import matplotlib as mpl  # noqa: F401  # whether it is there
    except ImportError:
        return "matplotlib is not installed; install the extra: pip install 'searchmark[charts]'"
    return None


def drawn(picture: Picture, suite: str, formats: tuple[str, ...]) -> dict[str, bytes]:
    """The picture in each of the formats, ``svg`` and ``png``; the same bytes whenever it is drawn."""
    from matplotlib.figure import Figure

    with _own_settings():
        figure = Figure(figsize=(WIDTH, picture.height), layout="constrained")
        picture.draw(figure)
        title = shown(f"{picture.title}: {suite}", LONGEST_TITLE)
        figure.suptitle(title, x=0.01, horizontalalignment="left", fontsize=11, fontweight="bold")
        figure.draw_without_rendering()  # lays it out, once for all formats
        figure.set_layout_engine("none")
        return {each: _bytes(figure, each, title, shown(picture.alt, None)) for each in formats}


def _bytes(figure: Any, format: str, title: str, alt: str) -> bytes:  # noqa: A002  # the word that users know
    file = io.BytesIO()
    if format == "svg":
        metadata: dict[str, Any] = {"Title": title, "Description": alt, "Date": None, "Creator": None}
    else:
        metadata = {"Title": title, "Description": alt, "Software": None}
    figure.savefig(file, format=format, dpi=DOTS_PER_INCH, metadata=metadata)
    return file.getvalue()


@contextmanager
def _own_settings() -> Iterator[None]:
    import matplotlib as mpl
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    fonts = ["DejaVu Sans", *(name for name in FALLBACK_FONTS if name in installed), "sans-serif"]
    with warnings.catch_warnings(), mpl.rc_context():
        warnings.simplefilter("ignore")  # of letters that no font has: a box is drawn instead
        defaults: dict[Any, Any] = {key: value for key, value in mpl.rcParamsDefault.items() if key not in NOT_OURS}
        mpl.rcParams.update(defaults | SETTINGS | {"font.family": fonts})
        yield
