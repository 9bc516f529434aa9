#!/usr/bin/env python3
"""The command `inspector` for those who work in a checkout."""

import sys

from inspector.command_line import main

if __name__ == "__main__":
    sys.exit(main())
