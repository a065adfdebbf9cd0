"""What measures the engine, the search and the service, and never serves."""
