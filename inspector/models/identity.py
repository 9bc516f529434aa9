"""Our own short ids: native ids are client text and do not belong in a URL. The same thing gets the same id on every machine and import."""

import hashlib


def short_id(*parts: str) -> str:
    """12 hex digits over the parts."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()[:12]
