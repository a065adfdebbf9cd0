"""Generated messages and stubs of package croupier.v1 (made at build time)."""
