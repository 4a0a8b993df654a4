"""Delivery windows: two hours each, so many vans at a time."""

from datetime import date, datetime, time, timedelta

FIRST_HOUR, LAST_HOUR, LENGTH = 8, 20, 2
VANS = 4


def slots_on(day: date) -> list[datetime]:
    """The beginnings of all windows of a day."""
    return [datetime.combine(day, time(hour)) for hour in range(FIRST_HOUR, LAST_HOUR, LENGTH)]


def booked(connection, slot: datetime) -> int:
    row = connection.execute("SELECT COUNT(*) FROM orders WHERE slot = ?", [slot.isoformat()]).fetchone()
    return row[0]


def free_slots(connection, now: datetime, days: int = 3) -> list[datetime]:
    """Windows of the coming days that still have a van."""
    found = []
    for offset in range(days):
        for slot in slots_on(now.date() + timedelta(days=offset)):
            if slot > now and booked(connection, slot) < VANS:
                found.append(slot)
    return found


def describe(slot: datetime) -> str:
    end = slot + timedelta(hours=LENGTH)
    return f"{slot:%a %d %b, %H:%M} to {end:%H:%M}"
