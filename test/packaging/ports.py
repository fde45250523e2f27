"""Free ports for servers of tests, outside of the range that the system gives to connections."""
import random
import socket

FIRST, LAST = 20000, 29999
given = set()


def free_port():
    """A port that is free now and that this process has not given before."""
    for port in random.sample(range(FIRST, LAST + 1), LAST + 1 - FIRST):
        if port in given:
            continue
        try:
            with socket.create_server(("127.0.0.1", port)):
                given.add(port)
                return port
        except OSError:
            continue
    raise OSError(f"no free port from {FIRST} to {LAST}")
