"""A coding agent, Codex, that uses the router as its provider (`/v1/responses`)."""

import base64
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.request

import pytest

URL = os.environ["POINTSMAN_SCRIPTED_URL"]
ENGINE = os.environ["POINTSMAN_SCRIPTED_ENGINE"]

# One pixel.
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
CODEX = pathlib.Path(__file__).parent.parent / "node/node_modules/.bin/codex"


@pytest.fixture
def codex(tmp_path):
    (tmp_path / "config.toml").write_text(
        f"""
model_provider = "router"
[model_providers.router]
name = "router"
base_url = "{URL}/v1"
wire_api = "responses"
env_key = "ROUTER_KEY"
request_max_retries = 3
stream_max_retries = 0
"""
    )
    project = tmp_path / "project"
    project.mkdir()

    def start(model, *args):
        command = [CODEX, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", model, *args]
        return subprocess.Popen(
            command,
            cwd=project,
            env={**os.environ, "CODEX_HOME": str(tmp_path), "ROUTER_KEY": "any"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    return start


def seen(model):
    with urllib.request.urlopen(ENGINE + "/seen") as answer:
        return [each for each in json.load(answer) if each["model"] == model]


def test_it_runs_the_command_that_the_model_asks_for(codex):
    out, _ = codex("agent", "How much is it?").communicate(timeout=120)
    assert "The tool says:" in out
    assert "forty-2" in out


def test_an_image_reaches_the_engine(codex, tmp_path):
    picture = tmp_path / "dot.png"
    picture.write_bytes(base64.b64decode(DOT))
    out, _ = codex("agent", "What is it?", "--image", str(picture)).communicate(timeout=120)
    size = re.search(r"images of (\d+) characters", out)
    assert size is not None, out
    assert int(size[1]) > 0


def test_it_retries_after_a_failure(codex):
    out, _ = codex("flaky", "How much is it?").communicate(timeout=120)
    assert "forty-2" in out


def test_it_reports_an_unknown_model(codex):
    agent = codex("no-such-model", "Hello")
    out, _ = agent.communicate(timeout=120)
    assert agent.returncode != 0
    assert "no-such-model" in out


def test_half_an_answer_is_an_error(codex):
    agent = codex("cut", "Hello")
    out, _ = agent.communicate(timeout=120)
    assert agent.returncode != 0
    assert "worker" in out


def test_an_interrupt_cancels_the_engine(codex):
    before = len(seen("endless"))
    agent = codex("endless", "Hello")
    await_that(lambda: len(seen("endless")) > before)
    os.killpg(agent.pid, signal.SIGINT)
    agent.communicate(timeout=120)
    await_that(lambda: all(each["left"] for each in seen("endless")))


def await_that(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
