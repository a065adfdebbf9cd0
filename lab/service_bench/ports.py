"""The ports of tests and benches, for scripts."""

from tests.support.ports import free_port as free_port
