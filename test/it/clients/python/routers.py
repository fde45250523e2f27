"""A router of the test's own, as a process, with the scripted engine."""

import contextlib
import os
import re
import signal
import subprocess
import time

ENGINE = os.environ["POINTSMAN_SCRIPTED_ENGINE"]


@contextlib.contextmanager
def router(*args):
    """The URL of the router and its process."""
    command = ["./pointsman", "serve", "--workers", ENGINE, "--port", "0", "--metrics-port", "0", *args]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in process.stdout:
            found = re.search(r"listens on (http://\S+)", line)
            if found:
                break
        else:
            raise AssertionError("the router did not start")
        ready(found[1])
        yield found[1], process
    finally:
        process.send_signal(signal.SIGKILL)
        process.stdout.close()
        process.wait()


def ready(url):
    import urllib.request

    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if urllib.request.urlopen(url + "/readiness", timeout=5).status == 200:
                return
        time.sleep(0.1)
    raise AssertionError("the router did not become ready")
