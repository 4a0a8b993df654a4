"""Charts of a report as PNG and SVG, drawn with matplotlib, which is loaded when one is drawn.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from searchmark.reports.charts.drawing import lacking
from searchmark.reports.charts.writing import CHARTS, Chart, charts_beside, with_charts, write_charts

__all__ = ["CHARTS", "Chart", "charts_beside", "lacking", "with_charts", "write_charts"]
