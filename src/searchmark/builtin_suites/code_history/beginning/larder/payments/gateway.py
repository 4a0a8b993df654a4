"""The card processor, spoken to over HTTPS."""

import json
import urllib.request


class PaymentDeclined(Exception):
    """The bank has said no."""


class GatewayDown(Exception):
    """Nobody answered."""


class Gateway:
    """Charges cards and pays back; amounts are cents."""

    def __init__(self, url: str, key: str, currency: str = "EUR") -> None:
        self._url = url
        self._key = key
        self._currency = currency

    def charge(self, amount: int, card_token: str, reference: str) -> str:
        """Take money from a card; the id of the charge."""
        answer = self._post("/charges", amount=amount, source=card_token, reference=reference)
        if answer["status"] != "succeeded":
            raise PaymentDeclined(answer.get("reason", "declined"))
        return answer["id"]

    def pay_back(self, charge_id: str, amount: int) -> str:
        return self._post(f"/charges/{charge_id}/refunds", amount=amount)["id"]

    def _post(self, path: str, **fields) -> dict:
        body = json.dumps({"currency": self._currency, **fields}).encode()
        request = urllib.request.Request(self._url + path, body, self._headers())
        try:
            with urllib.request.urlopen(request) as response:
                return json.load(response)
        except OSError as error:
            raise GatewayDown(str(error)) from error

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
