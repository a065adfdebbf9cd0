"""The terminal client. It talks to a server over gRPC, and to nothing else."""
