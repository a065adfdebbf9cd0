"""The command line, one file a command."""

import os

# No command forks without starting another program, so gRPC need not prepare for it. With its
# preparations it complains when a search process is started.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
