"""What users derive from."""
