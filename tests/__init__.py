"""The tests. Whatever they run in this process is set up as a server is."""

# Before anything imports gRPC, which reads its variables once: the package sets them. Tests start
# programs as other users, for which Python forks, and gRPC's fork handlers must not run then.
import service  # noqa: F401
