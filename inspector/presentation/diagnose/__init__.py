"""What somebody has in hand during an incident, recognized by what it is."""
