"""Value added tax, which is part of every price."""

RATES = {"standard": 19, "reduced": 7, "none": 0}


def included_tax(gross: int, kind: str) -> int:
    """The tax inside a gross price."""
    rate = RATES[kind]
    return int(gross * rate / (100 + rate))


def tax_summary(lines) -> dict[str, int]:
    """How much tax of each kind an order holds."""
    summary: dict[str, int] = {}
    for line in lines:
        kind = line.product.vat
        summary[kind] = summary.get(kind, 0) + included_tax(line.total_cents, kind)
    return summary


def net(gross: int, kind: str) -> int:
    return gross - included_tax(gross, kind)
