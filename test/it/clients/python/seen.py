"""The requests that the scripted engine has seen."""

import json
import os
import time
import urllib.request

ENGINE = os.environ["POINTSMAN_SCRIPTED_ENGINE"]


def left():
    """Number of requests that their clients left early, as the engine saw it."""
    with urllib.request.urlopen(ENGINE + "/seen") as answer:
        return sum(each["left"] for each in json.load(answer))


def await_one_more(before):
    end = time.monotonic() + 60
    while left() <= before:
        assert time.monotonic() < end, "the engine was not cancelled"
        time.sleep(0.05)
