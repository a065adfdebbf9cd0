"""The terminal client: `croupier play`. It talks to a server over gRPC and to nothing else."""

from croupier.terminal.play import add_parser

__all__ = ["add_parser"]
