"""What the server tells its operator: logs, metrics and traces."""
