"""Django's own check of the settings: the command `check` says whether a provider would accept a history."""

from django.core.management.commands import check


class Command(check.Command):
    help = "Checks the settings and the database, as Django does; --deploy also what a server that others reach needs."
