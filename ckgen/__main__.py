"""`python -m ckgen` is the ckgen command."""

import sys

from ckgen.cli import main

sys.exit(main())
