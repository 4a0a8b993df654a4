"""From a basket to a paid order."""

from datetime import date

from larder import orders, stock, vouchers
from larder.basket import Basket
from larder.database import transaction
from larder.payments.gateway import PaymentDeclined
from larder.shipping.rates import delivery_fee


class EmptyBasket(Exception):
    """There is nothing to order."""


class Checkout:
    """One visitor's way through the till."""

    def __init__(self, connection, gateway, mailer) -> None:
        self._connection = connection
        self._gateway = gateway
        self._mailer = mailer

    def total(self, basket: Basket, postcode: str, voucher: str | None = None) -> int:
        goods = basket.total_cents()
        discount = vouchers.discount_cents(self._connection, voucher, goods, date.today()) if voucher else 0
        return goods - discount + delivery_fee(postcode, basket.weight_grams(), goods)

    def place(self, basket: Basket, customer, card_token: str, slot=None, voucher=None) -> int:
        """Reserve the goods, take the money, keep the order."""
        lines = basket.lines()
        if not lines:
            raise EmptyBasket
        total = self.total(basket, customer.postcode, voucher)
        with transaction(self._connection):
            for line in lines:
                stock.reserve(self._connection, line.product.id, line.quantity)
            order_id = orders.create_order(self._connection, customer.id, lines, total, slot)
        try:
            self._gateway.charge(total, card_token, reference=str(order_id))
        except PaymentDeclined:
            orders.set_status(self._connection, order_id, orders.CANCELLED)
            raise
        orders.set_status(self._connection, order_id, orders.PAID)
        if voucher:
            vouchers.redeem(self._connection, voucher)
        self._mailer.send(customer.email, "order_confirmation", order_id=order_id, total=total)
        return order_id
