"""`python -m evals.localize`: the bench."""

import sys

from evals.localize.bench import main

sys.exit(main())
