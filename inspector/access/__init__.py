"""Who may see and do what: roles on sources, and the limit that the request of a person has."""
