"""The wording of our mails: a subject and a body each."""

from larder.money import format_amount

TEMPLATES = {
    "order_confirmation": (
        "Your order {order_id}",
        "Thank you! We have received your order {order_id} over {total}.\n",
    ),
    "order_cancelled": (
        "Your order {order_id} was cancelled",
        "We have cancelled your order {order_id}. Nothing will be charged.\n",
    ),
    "welcome": ("Welcome to Larder", "Hello {name},\n\nyour account is ready.\n"),
}


def render(template: str, **values) -> tuple[str, str]:
    """Subject and body of a mail with everything filled in."""
    subject, body = TEMPLATES[template]
    if "total" in values:
        values["total"] = format_amount(values["total"])
    return subject.format(**values), body.format(**values)
