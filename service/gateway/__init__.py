"""What browsers and clients without gRPC speak: Connect, gRPC-Web, JSON, and the web app."""
