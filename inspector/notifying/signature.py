"""The signature of a webhook: HMAC-SHA256 over the time and the body, so that a receiver knows who sent it, and that it is not an old one sent again."""

import hashlib
import hmac

TIME_HEADER = "X-Inspector-Timestamp"
SIGNATURE_HEADER = "X-Inspector-Signature"
EVENT_HEADER = "X-Inspector-Event"
KEY_HEADER = "Idempotency-Key"


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """`sha256=` and hex digits; what is signed is the timestamp, a full stop, and the body."""
    digest = hmac.new(secret.encode(), b"%d." % timestamp + body, hashlib.sha256).hexdigest()
    return f"sha256={digest}"
