"""Process 1: the first of a container, which no signal ends that it has no handler for.

Imported before everything else of the command line, whose imports take a second or two.
"""

from __future__ import annotations

import os
import signal

__all__ = ["end_on_sigterm"]


def end_on_sigterm() -> None:
    """End process 1 on SIGTERM as the kernel ends any other: at once, as 128 and the signal's number.

    A worker has a handler of its own in its place once it begins to start.
    """
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, lambda number, _: os._exit(128 + number))


end_on_sigterm()
