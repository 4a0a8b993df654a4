"""Sending mail through the shop's SMTP server."""

import smtplib
from email.message import EmailMessage

from larder.mail.templates import render


class Mailer:
    """Renders a template and sends it."""

    def __init__(self, host: str, port: int, sender: str) -> None:
        self._host = host
        self._port = port
        self._sender = sender

    def send(self, recipient: str, template: str, **values) -> None:
        subject, body = render(template, **values)
        message = EmailMessage()
        message["From"] = self._sender
        message["To"] = recipient
        message["Subject"] = subject
        message.set_content(body)
        with smtplib.SMTP(self._host, self._port) as server:
            server.send_message(message)
