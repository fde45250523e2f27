"""An engine with fixed answers on a free port of the loopback; prints its URL. A stream has EVENTS events in 5 s."""
import http.server
import json
import time

MODELS = b'{"object":"list","data":[{"id":"m","object":"model"}]}'
CHAT = (
    b'{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"Hi."},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'
)


EVENT = b'data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
EVENTS = 50
PAUSE_S = 0.1


class Engine(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(MODELS if self.path == "/v1/models" else b"{}")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        # Large bodies are no streams; to parse them would take the time of the engine.
        if len(body) < 1024 and json.loads(body).get("stream"):
            self.stream()
        else:
            self.reply(CHAT)

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(EVENTS):
            self.chunk(EVENT)
            time.sleep(PAUSE_S)
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024


server = Server(("127.0.0.1", 0), Engine)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
