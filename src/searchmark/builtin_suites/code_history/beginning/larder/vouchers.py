"""Codes that make an order cheaper."""

from datetime import date

from larder.money import percent_of


class VoucherError(Exception):
    """A voucher that cannot be used, and why."""


def find_voucher(connection, code: str):
    row = connection.execute("SELECT * FROM vouchers WHERE code = ?", [code]).fetchone()
    if row is None:
        raise VoucherError("there is no such voucher")
    return row


def check_voucher(voucher, today: date) -> None:
    if voucher["expires_at"] < today.isoformat():
        raise VoucherError("the voucher has expired")
    if voucher["uses_left"] == 0:
        raise VoucherError("the voucher has been used up")


def discount_cents(connection, code: str, total: int, today: date) -> int:
    """What a voucher takes off a total."""
    voucher = find_voucher(connection, code)
    check_voucher(voucher, today)
    return percent_of(total, voucher["percent"])


def redeem(connection, code: str) -> None:
    connection.execute("UPDATE vouchers SET uses_left = uses_left - 1 WHERE code = ?", [code])
