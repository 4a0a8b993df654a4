"""``python -m searchmark``, and the command ``searchmark``."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run the command line. Until that can deal with Ctrl-C, it ends us as it ends any program: without a word."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from searchmark.cli.main import main as run

    signal.signal(signal.SIGINT, before)
    return run()


if __name__ == "__main__":
    sys.exit(main())
