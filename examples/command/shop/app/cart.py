"""What a customer wants to buy."""


class Cart:
    """Articles, and a discount for whoever buys many."""
