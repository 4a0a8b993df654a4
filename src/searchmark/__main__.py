"""``python -m searchmark``."""

import sys

from searchmark.cli.main import main

sys.exit(main())
