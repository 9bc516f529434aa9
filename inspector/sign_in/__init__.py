"""How people and their programs get in: passwords, a provider, a proxy, API tokens; and how long they stay."""
