"""The processes of background tasks and of imports by the watcher. Nothing here imports a model before Django is set up, since it may begin as a fresh interpreter."""

import gc
import os
import signal
import time


def run_task(pk: int, database: str) -> None:
    """`database` is the name of the one that has the task."""
    from inspector.wsgi import application  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # A conversation is millions of objects that all stay until the end: looking through them for garbage took a tenth of the time, and found none.
    gc.freeze()
    gc.set_threshold(5_000_000, 20, 100)

    from django.db import connection

    from inspector import background
    from inspector.models import BackgroundTask
    from inspector.sources.processes import this_process

    connection.settings_dict["NAME"] = database
    BackgroundTask.objects.filter(pk=pk).update(by=this_process())
    background.run(pk)
    BackgroundTask.objects.filter(pk=pk).update(seconds=time.process_time())


def run_watched(source: int, database: str) -> None:
    """Imports what changed in a watched source."""
    from inspector.wsgi import application  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    from django.db import connection

    from inspector import watcher

    # Who looks at a page waits for it, and nobody for this.
    os.nice(5)
    connection.settings_dict["NAME"] = database
    watcher.import_now(source)
