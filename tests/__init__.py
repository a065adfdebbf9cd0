import os

# Tests start programs from processes in which gRPC runs threads. Python forks when it starts a
# program as another user, and gRPC's own fork handlers must not run in that child.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
