"""What measures the search."""
