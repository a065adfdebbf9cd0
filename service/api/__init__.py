"""The gRPC services, and what every call passes through."""
