"""The web gateway: Connect, gRPC-Web and JSON for clients without gRPC, and the web app."""
