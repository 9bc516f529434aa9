"""Which addresses may be connected to: public ones, and those of the networks that the person who runs the server lists."""

import ipaddress
from collections.abc import Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

REFUSED: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        # Relays to IPv4, and a service of Azure that answers machines there with their secrets: public by their numbers.
        "192.0.0.0/24",
        "192.88.99.0/24",
        "168.63.129.16/32",
        # IPv4 addresses in IPv6 that nothing public is reached by: compatible, Teredo, 6to4, of one's own translators; addresses of a site.
        "::/8",
        "2001::/23",
        "2002::/16",
        "64:ff9b:1::/48",
        "fec0::/10",
        # For protocols and documents, which some versions of Python take for public.
        "3fff::/20",
        "5f00::/16",
    )
)
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""An IPv4 address for networks that have only IPv6: it leads where that one does."""


def plain(address: Address) -> Address:
    """The IPv4 address that an IPv6 address leads to; else the address, without its zone."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return ipaddress.IPv6Address(int(address))


def is_listed(address: Address, allowed: Sequence[Network]) -> bool:
    own = plain(address)
    return any(own.version == network.version and own in network for network in allowed)


def is_public(address: Address) -> bool:
    own = plain(address)
    if any(own.version == network.version and own in network for network in REFUSED):
        return False
    return own.is_global and not own.is_multicast and not own.is_reserved


def may_connect(address: Address, allowed: Sequence[Network], is_encrypted: bool) -> bool:
    """What is not encrypted goes to listed networks only."""
    return is_listed(address, allowed) or (is_encrypted and is_public(address))
