"""Giving money back."""

from larder import orders


class RefundError(Exception):
    """Money that cannot be given back."""


def refund_order(connection, gateway, order_id: int, charge_id: str) -> str:
    """Give back all that was paid."""
    order = orders.load_order(connection, order_id)
    if order.status == orders.OPEN:
        raise RefundError("the order was never paid")
    refund = gateway.pay_back(charge_id, order.total_cents)
    orders.set_status(connection, order_id, orders.CANCELLED)
    return refund


def refund_lines(connection, gateway, order_id: int, charge_id: str, product_ids: list[int]) -> str:
    """Give back the price of some products of an order, say because they arrived broken."""
    order = orders.load_order(connection, order_id)
    amount = sum(line.total_cents for line in order.lines if line.product.id in product_ids)
    return gateway.pay_back(charge_id, amount)
