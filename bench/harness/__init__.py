"""What every scenario shares: processes, load, rounds and the report."""
