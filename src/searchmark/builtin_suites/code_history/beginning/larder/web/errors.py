"""Which error becomes which response."""

from larder.accounts.profiles import EmailTaken
from larder.accounts.sessions import WrongLogin
from larder.checkout import EmptyBasket
from larder.payments.gateway import PaymentDeclined
from larder.shipping.rates import NotDelivered
from larder.stock import OutOfStock
from larder.vouchers import VoucherError

RESPONSES = {
    EmailTaken: (409, "this address is taken"),
    WrongLogin: (403, "wrong address or password"),
    EmptyBasket: (400, "the basket is empty"),
    PaymentDeclined: (402, "the payment was declined"),
    NotDelivered: (400, "we do not deliver there"),
    OutOfStock: (409, "not enough in stock"),
    VoucherError: (400, "the voucher cannot be used"),
}


def response_for(error: Exception) -> tuple[int, dict]:
    """Status and body for an error; what we do not know is our own fault."""
    for kind, (status, text) in RESPONSES.items():
        if isinstance(error, kind):
            return status, {"error": text}
    return 500, {"error": str(error)}
