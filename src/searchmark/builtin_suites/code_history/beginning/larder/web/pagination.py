"""Long lists, page by page."""

from math import ceil


def page_of(query: dict[str, str], size: int) -> tuple[int, int]:
    """Limit and offset for the page that was asked for."""
    page = int(query.get("page", 1))
    return size, (page - 1) * size


def page_links(path: str, page: int, total: int, size: int) -> dict[str, str]:
    """Where the neighbours of a page are."""
    last = ceil(total / size)
    links = {}
    if page > 1:
        links["previous"] = f"{path}?page={page - 1}"
    if page < last:
        links["next"] = f"{path}?page={page + 1}"
    return links
