"""The address of who sends a request, also behind proxies: theirs is the word of a proxy that is trusted, and of nobody else."""

import ipaddress
from collections.abc import Sequence

from django.conf import settings
from django.http import HttpRequest

from inspector.notifying.addresses import Address, Network
from inspector.sign_in.browsers import LONGEST, in_words


def client_address(request: HttpRequest) -> str:
    """ "" where it is none, as with a socket of Unix."""
    return nearest_untrusted(
        request.META.get("REMOTE_ADDR", ""), request.headers.get("X-Forwarded-For", ""), settings.INSPECTOR_TRUSTED_PROXIES
    )


def client_of(request: HttpRequest) -> dict[str, str]:
    """What the audit log says of where a request came from: the address, and the browser in our own words."""
    return {"address": client_address(request), "browser": in_words(request.headers.get("User-Agent", "")[:LONGEST])}


def nearest_untrusted(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """From the peer on back through `forwarded`, to which part proxy adds the address it was asked by: the first that is no trusted proxy.

    What is before that one was written by it, and may be invented.
    """
    address = parsed(peer)
    for part in reversed(forwarded.split(",")):
        if address is None or not is_trusted(address, trusted) or not (before := parsed(part.strip())):
            break
        address = before
    return str(address) if address else ""


def comes_from_proxy(request: HttpRequest) -> bool:
    address = parsed(request.META.get("REMOTE_ADDR", ""))
    return address is not None and is_trusted(address, settings.INSPECTOR_TRUSTED_PROXIES)


def network_of(address: str) -> str:
    """What is counted as one: of IPv6 the network that one household gets."""
    parsed_address = parsed(address)
    if isinstance(parsed_address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed_address, 64), strict=False))
    return address


def is_trusted(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)


def parsed(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
