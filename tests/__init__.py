"""The tests. Whatever they run in this process is set up as a server is."""

# Before anything imports gRPC, which reads its variables once: the package sets them.
import service  # noqa: F401
