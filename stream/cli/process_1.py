"""Process 1 of a container: the kernel ends it by a signal only if it has a handler for that signal.

Imported before all other modules of the command line, which take a second or two to import.
"""

from __future__ import annotations

import os
import signal

__all__ = ["end_on_sigterm"]


def end_on_sigterm() -> None:
    """End process 1 at once on SIGTERM, with 128 and the signal's number as the exit code, like any other process.

    A worker replaces this handler by its own as soon as it starts.
    """
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, lambda number, _: os._exit(128 + number))


end_on_sigterm()
