"""The gRPC server.

Importing it chooses how gRPC itself works, which gRPC reads once, when it is imported. So whatever
serves imports this package before gRPC.
"""

import os

# gRPC moves its connections to threads of its own (its "EventEngine"). Behind grpc.aio each message
# then wakes one thread more on its way to the event loop, which costs a fifth of the processor time
# of a short call. Without fork support gRPC counts no threads that could be in the way of a fork:
# a server starts other processes only with a new program. A stranger's bytes can make gRPC write to
# standard error any number of times, so it writes nothing. What the operator has set stays.
GRPC_VARIABLES = {
    "GRPC_EXPERIMENTS": "-event_engine_listener,-event_engine_client",
    "GRPC_ENABLE_FORK_SUPPORT": "0",
    "GRPC_VERBOSITY": "NONE",
}
for _name, _value in GRPC_VARIABLES.items():
    os.environ.setdefault(_name, _value)
