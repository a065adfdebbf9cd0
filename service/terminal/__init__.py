"""The terminal client: `croupier play`. It talks to a server over gRPC and to nothing else."""
