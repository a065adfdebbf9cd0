"""The command line, one file a command."""

# Before any command imports gRPC, which reads its variables once: the package sets them.
import service  # noqa: F401
