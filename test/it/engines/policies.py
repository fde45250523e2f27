#!/usr/bin/env python3
"""Compares policies on two real vLLM engines: cache hits of repeated prompts, and times to first token of conversations.

    policies.py KIT [--rounds N] [POLICY...]

KIT and KIT_HOME as for faults.py; KIT also has `bestofn.py` and `chats.py`, which send the load. POLICY is the value of
`--policy`, with `+events` if the router reads KV events (default: the six policies of docs/evidence/routing-quality.md). The
policies take turns in each round, and every run begins with empty caches. Prints one line for each run and a table of medians.
Three rounds take about 18 minutes on two cores. Two engines share the cores with the router and the load, so measure at rest.
"""
import argparse
import json
import os
import re
import statistics
import subprocess

from faults import PYTHON, Engines, Router, call, wait_for

USUAL = ["cost", "cost+events", "kv_aware+events", "cache_aware", "round_robin", "power_of_two"]
BOUND = 400  # seconds for one load


def load(kit, program, *arguments):
    command = [PYTHON, os.path.join(kit, program), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=BOUND)
    return done.stdout


def metric(text, name):
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? ([0-9.e+]+)$", text, re.M))


def run(kit, urls, policy, seed):
    """One policy: hits of repeated prompts, then conversations on empty caches."""
    name, _, events = policy.partition("+")
    flags = ["--kv-events-mode", "auto"] if events else []
    router = Router(urls, *flags, "--admin-port", "0", "--metrics-port", "0", policy=name)
    try:
        if events:
            live = lambda: metric(text(router), "pointsman_kv_event_sources_live") == len(urls)
            wait_for("the KV events of all engines", live)
        shuffled = load(kit, "bestofn.py", router.url, "--engines", ",".join(urls), "--order", "shuffled", "--seed", str(seed))
        hits = float(re.search(r" hit ([0-9.]+) ", shuffled).group(1))
        # The first conversations compile the router's code, which takes a part of the two cores from the engines.
        load(kit, "chats.py", router.url, "--seed", str(seed + 1000))
        for url in urls:
            assert call(url, "POST", "/reset_prefix_cache").status == 200, f"reset of {url}"
        chats = json.loads(load(kit, "chats.py", router.url, "--seed", str(seed)))
        assert not chats["errors"], chats["first_errors"]
        learned = metric(text(router), r'pointsman_kv_token_requests_total{result="learned"}') if events else 0
        return {"hits": hits, "ttft": chats["ttft_mean_ms"], "chat_hits": chats["hit"], "p95": chats["ttft_p95"],
                "workers": sorted(chats["workers"].values()), "learned": int(learned)}
    finally:
        router.close()


def text(router):
    return call(router.admin(), "GET", "/metrics").body.decode()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("kit")
    options.add_argument("policies", nargs="*", default=USUAL)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--first-engine", type=int, default=1)
    arguments = options.parse_args()
    kit = os.path.abspath(arguments.kit)
    engines = Engines(kit, arguments.first_engine)
    results = {policy: [] for policy in arguments.policies}
    try:
        engines.start(1, 2)
        urls = [engines.url(number) for number in (1, 2)]
        for turn in range(arguments.rounds):
            for policy in arguments.policies:
                got = run(kit, urls, policy, turn + 1)
                results[policy].append(got)
                print(f"round {turn + 1}, {policy}: {got}", flush=True)
    finally:
        engines.close()
    print("| policy | hits | chats, ms (rounds) | hits of chats |")
    print("|---|---|---|---|")
    for policy, runs in results.items():
        middle = lambda key: statistics.median(each[key] for each in runs)
        times = [each["ttft"] for each in runs]
        print(f"| {policy} | {middle('hits'):.3f} | {middle('ttft'):.0f} ({min(times):.0f} to {max(times):.0f}) | {middle('chat_hits'):.3f} |")


if __name__ == "__main__":
    main()
