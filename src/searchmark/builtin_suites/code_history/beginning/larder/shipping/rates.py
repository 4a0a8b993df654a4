"""What a delivery costs."""

FREE_FROM_CENTS = 5000
BASE_FEE = 390
HEAVY_FROM_GRAMS = 20000
HEAVY_SURCHARGE = 250
ZONES = {"10": 0, "12": 0, "13": 100, "14": 200, "15": 300}


class NotDelivered(Exception):
    """We do not drive there."""


def zone_surcharge(postcode: str) -> int:
    prefix = postcode[:2]
    if prefix not in ZONES:
        raise NotDelivered(postcode)
    return ZONES[prefix]


def delivery_fee(postcode: str, weight_grams: int, goods_cents: int) -> int:
    """The fee for one delivery; large orders travel for free."""
    surcharge = zone_surcharge(postcode)
    if goods_cents > FREE_FROM_CENTS:
        return 0
    fee = BASE_FEE + surcharge
    if weight_grams >= HEAVY_FROM_GRAMS:
        fee += HEAVY_SURCHARGE
    return fee
