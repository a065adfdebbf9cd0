"""Whether this is the long form of the tests: `make soak` adds what `make test` leaves out."""

import os

LONG_FORM = bool(os.environ.get("TEST_LONG"))
