"""Times starts of routers, alternating, until /readyz is 200: starts.py ENGINE ROUNDS NAME=LAUNCHER...

Prints the median, the least and the most of each, in ms. The first start of each does not count.
"""
import http.client
import signal
import statistics
import subprocess
import sys
import time

from ports import free_port

engine, rounds = sys.argv[1], int(sys.argv[2])
launchers = dict(each.split("=", 1) for each in sys.argv[3:])
LIMIT_S = 60


def ready(port):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False


def start(launcher):
    port = free_port()
    command = [launcher, "serve", "--workers", engine, "--port", str(port), "--metrics-port", "0", "--admin-port", "0"]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not ready(port):
            if process.poll() is not None or time.monotonic() - begun > LIMIT_S:
                sys.exit(f"{launcher}: not ready (expected: within {LIMIT_S} s)")
            time.sleep(0.002)
        return (time.monotonic() - begun) * 1000
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(LIMIT_S)


times = {name: [] for name in launchers}
for number in range(rounds + 1):
    for name, launcher in launchers.items():
        took = start(launcher)
        if number > 0:
            times[name].append(took)
for name, each in times.items():
    print(f"start: {name} {statistics.median(each):.0f} ms (median of {rounds}, {min(each):.0f} to {max(each):.0f})")
