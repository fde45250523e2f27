#!/usr/bin/env python3
"""A rolling restart of four real vLLM engines under load, through the router.

    restart.py KIT [--first N] [--clients N] [--tokens N]

KIT, KIT_HOME and --first as for faults.py. Engines 1 and 2 are drained by the admin API, restarted and uncordoned, as docs/operate.md
describes. Engines 3 and 4 get SIGTERM without a drain, while answers are under way. Exits with 1 if a truncated answer was
passed on as a whole one, a request failed that had no byte of an answer, or no answer was under way at a SIGTERM. Takes about 5
minutes on two cores.
"""
import argparse
import json
import os
import sys
import threading
import time

from faults import BOUND, Engines, Router, call, chat, post, wait_for

TERM_S = 60


class Client(threading.Thread):
    """Sends chats one after the other, every second one streamed."""

    done = threading.Event()

    def __init__(self, base, number, tokens):
        super().__init__(daemon=True)
        self.base, self.number, self.tokens, self.answers = base, number, tokens, []

    def run(self):
        turn = 0
        while not Client.done.is_set():
            stream = turn % 2 == 0
            body = chat(f"Client {self.number}, turn {turn}", self.tokens, stream=stream, ignore_eos=True)
            self.answers.append((stream, post(self.base, "/v1/chat/completions", body)))
            turn += 1


def verdict(stream, answer):
    """One of whole, cut (the client sees it), failed (an error without a byte of an answer), truncated."""
    if answer.status != 200:
        return "failed"
    if answer.ended_whole() and (not stream or b"[DONE]" in answer.body):
        return "whole"
    broken = answer.error_event() or b"IncompleteRead" in answer.body or b"Connection" in answer.body
    if answer.first is None:
        return "failed"
    return "cut" if broken else "truncated"


def drained(admin, worker):
    """Takes an engine out and waits until it is empty."""
    path = f"/workers/{worker}/drain?wait=60s"
    wait_for(f"{worker} is empty", lambda: call(admin, "POST", path, timeout=BOUND).status == 200, 180)


def available(admin):
    """Number of engines that can get requests."""
    return call(admin, "GET", "/workers").body.replace(b" ", b"").count(b'"available":true')


def under_way(engine):
    """Number of requests that the engine computes or keeps in its queue, by its own count."""
    return json.loads(call(engine, "GET", "/load").body)["server_load"]


def served(clients):
    return sum(len(client.answers) for client in clients)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("kit")
    options.add_argument("--first", type=int, default=1)
    options.add_argument("--clients", type=int, default=8)
    options.add_argument("--tokens", type=int, default=400, help="tokens of each answer")
    given = options.parse_args()
    engines = Engines(os.path.abspath(given.kit), given.first)
    router, clients, cut = None, [], []
    begun = time.time()
    try:
        numbers = (1, 2, 3, 4)
        engines.start(*numbers)
        router = Router([engines.url(n) for n in numbers], "--admin-port", "0", "--metrics-port", "0")
        admin = router.admin()
        wait_for("all engines serve", lambda: router.all_up(8))
        clients = [Client(router.url, n, given.tokens) for n in range(given.clients)]
        for client in clients:
            client.start()
        for number in numbers:
            worker = engines.url(number).removeprefix("http://")
            before = served(clients)
            wait_for("load", lambda: served(clients) >= before + 2 * given.clients, 180)
            if number <= 2:
                drained(admin, worker)
            else:
                wait_for("an answer is under way", lambda: under_way(engines.url(number)) > 0)
            cut.append(under_way(engines.url(number)))
            engines.terminate(number)
            wait_for(f"the end of engine {number}", lambda: not engines.alive(number), TERM_S)
            engines.stop(number)
            engines.start(number)
            if number <= 2:
                assert call(admin, "POST", f"/workers/{worker}/uncordon").status == 200, "uncordon"
            wait_for(f"engine {number} serves", lambda: available(admin) == len(numbers), 120)
            print(f"engine {number}: {'drained and ' if number <= 2 else ''}restarted with {cut[-1]} under way, {served(clients)} answers", flush=True)
        before = served(clients)
        wait_for("load", lambda: served(clients) >= before + 4 * given.clients, 180)
        Client.done.set()
        for client in clients:
            client.join(BOUND)
    finally:
        Client.done.set()
        if router:
            router.close()
        engines.close()
    counts = {"whole": 0, "cut": 0, "failed": 0, "truncated": 0}
    for client in clients:
        for stream, answer in client.answers:
            kind = verdict(stream, answer)
            counts[kind] += 1
            if kind in ("failed", "truncated"):
                print(f"{kind}: {answer} {answer.body[-300:]!r}")
    print(f"restart: {counts} in {time.time() - begun:.0f} s, under way at SIGTERM: {cut}")
    sys.exit(1 if counts["failed"] or counts["truncated"] or not all(cut[2:]) else 0)


if __name__ == "__main__":
    main()
