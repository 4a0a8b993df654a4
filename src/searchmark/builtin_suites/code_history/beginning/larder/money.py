"""Amounts are whole cents; everything else is for people to look at."""


def cents(text: str) -> int:
    """'12.50' or '12' as cents."""
    return int(float(text) * 100)


def percent_of(amount: int, percent: int) -> int:
    return int(amount * percent / 100)


def format_amount(amount: int, currency: str = "EUR") -> str:
    """Cents the way they are shown: 12.50 EUR."""
    return f"{amount / 100:.2f} {currency}"


def split_evenly(amount: int, parts: int) -> list[int]:
    """Shares that add up to the amount; the first ones take the odd cents."""
    share, rest = divmod(amount, parts)
    return [share + (1 if place < rest else 0) for place in range(parts)]
