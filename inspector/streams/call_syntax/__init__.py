"""The text forms in which models write a tool call where no server turned it into a structured one."""
