"""Who works on the shop. None of them exists."""

MIRA = "Mira Holt <mira@larder.example>"
JONAS = "Jonas Adeyemi <jonas@larder.example>"
PRIYA = "Priya Lindqvist <priya@larder.example>"
TOMASZ = "Tomasz Okafor <tomasz@larder.example>"
BOT = "larder-bot <bot@larder.example>"
