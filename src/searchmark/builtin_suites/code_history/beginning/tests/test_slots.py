from datetime import date

from larder.shipping.slots import slots_on


def test_a_day_has_six_windows():
    assert len(slots_on(date(2023, 1, 9))) == 6
