"""Who may look at the pages in local mode: a client with the token, as a program sends it."""

from typing import Any

from django.test import Client

from inspector import access_token


class OperatorClient(Client):
    """Django's client, let in."""

    def request(self, **request: Any) -> Any:
        # Asked for at each request: a test may have another data folder meanwhile.
        return super().request(**{"HTTP_AUTHORIZATION": access_token.bearer()["Authorization"], **request})
