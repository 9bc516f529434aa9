"""What is left out of logs."""

import logging
import re

from inspector.presentation.masking import masked

_TOKEN = re.compile(r"([?&]token=|/share/)[^&\s/?\"']+")


class WithoutToken(logging.Filter):
    """`runserver` logs every address as it was asked for, that of the link too."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = _TOKEN.sub(r"\1***", record.getMessage()), ()
        return True


class MaskedFormatter(logging.Formatter):
    """A traceback quotes what a store contains."""

    def format(self, record: logging.LogRecord) -> str:
        return masked(_TOKEN.sub(r"\1***", super().format(record)))
