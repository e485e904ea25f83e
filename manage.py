#!/usr/bin/env python
"""Every command of a checkout: memplatform.processes.command_line has them."""

import sys

from memplatform.processes.command_line import main

if __name__ == "__main__":
    main(sys.argv)
