from larder.money import format_amount, split_evenly


def test_amounts_are_shown_with_two_digits():
    assert format_amount(1250) == "12.50 EUR"


def test_shares_add_up():
    assert split_evenly(100, 3) == [34, 33, 33]
