"""What other programs are told: texts of events, signatures, and one HTTP request to an address that is checked first. No Django, no database."""
