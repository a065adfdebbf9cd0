import os

# Tests start programs from processes with gRPC's threads in them, some as another user, for which
# Python forks: gRPC's own handling of forks must stay out of the child.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
