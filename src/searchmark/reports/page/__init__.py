"""A report as one HTML file that opens anywhere: no network, no server, nothing beside it.

Private: what is meant for others is a name of `searchmark`.
"""

from searchmark.reports.page.document import to_html

__all__ = ["to_html"]
