"""What is left out of logs."""

import logging
import re

_TOKEN = re.compile(r"([?&]token=)[^&\s]*")


class WithoutToken(logging.Filter):
    """`runserver` logs every address as it was asked for, that of the link too."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = _TOKEN.sub(r"\1***", record.getMessage()), ()
        return True
