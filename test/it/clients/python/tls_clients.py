"""The SDKs of OpenAI and Anthropic over TLS with a private CA, HTTP/2, and certificates of clients (mTLS)."""

import os
import ssl

import anthropic
import httpx
import httpx2
import openai

TLS = os.environ["POINTSMAN_TLS_URL"]
MTLS = os.environ["POINTSMAN_MTLS_URL"]
FILES = os.environ["POINTSMAN_CERTIFICATES"]
MESSAGES = [{"role": "user", "content": "hi"}]


def context(certificate=None, ca="ca"):
    made = ssl.create_default_context(cafile=f"{FILES}/{ca}.crt")
    if certificate:
        made.load_cert_chain(f"{FILES}/{certificate}.crt", f"{FILES}/{certificate}.key")
    return made


def openai_over(url, http2=False, **verify):
    http = httpx.Client(verify=context(**verify), http2=http2)
    return openai.OpenAI(base_url=url + "/v1", api_key="any", max_retries=0, timeout=30, http_client=http)


def anthropic_over(url, http2=False, **verify):
    http = httpx2.Client(verify=context(**verify), http2=http2)
    return anthropic.Anthropic(base_url=url, api_key="any", max_retries=0, timeout=30, http_client=http)


def ok(name):
    print("ok    ", name, flush=True)


for http2, version in ((False, "HTTP/1.1"), (True, "HTTP/2")):
    for url, certificate in ((TLS, None), (MTLS, "client")):
        name = f"{version}, {'mTLS' if certificate else 'TLS'}"
        with openai_over(url, http2, certificate=certificate) as client:
            raw = client.chat.completions.with_raw_response.create(model="agent", messages=MESSAGES)
            assert raw.http_response.http_version == version, raw.http_response.http_version
            assert raw.parse().choices[0].message.content
            stream = client.chat.completions.create(model="agent", messages=MESSAGES, stream=True)
            assert "".join(each.choices[0].delta.content or "" for each in stream if each.choices)
            ok(f"OpenAI SDK: {name}")
        with anthropic_over(url, http2, certificate=certificate) as client:
            answer = client.messages.create(model="agent", messages=MESSAGES, max_tokens=8)
            assert answer.content[0].text
            with client.messages.stream(model="agent", messages=MESSAGES, max_tokens=8) as stream:
                assert "".join(stream.text_stream)
            ok(f"Anthropic SDK: {name}")


def refused(name, client):
    try:
        client.models.list()
    except (openai.APIConnectionError, anthropic.APIConnectionError):
        ok(name)
    else:
        raise AssertionError(f"{name}: served")


refused("OpenAI SDK: another CA", openai_over(TLS, ca="other-ca"))
refused("OpenAI SDK: mTLS without a certificate", openai_over(MTLS))
refused("OpenAI SDK: mTLS with a certificate of another CA", openai_over(MTLS, certificate="stranger"))
refused("Anthropic SDK: mTLS without a certificate", anthropic_over(MTLS, http2=True))
