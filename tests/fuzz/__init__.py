"""Any bytes for what reads what others wrote."""
