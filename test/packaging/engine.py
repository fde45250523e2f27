"""An engine with fixed answers on a free port of the loopback; prints its URL."""
import http.server

MODELS = b'{"object":"list","data":[{"id":"m","object":"model"}]}'
CHAT = (
    b'{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"Hi."},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'
)


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
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(CHAT)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024


server = Server(("127.0.0.1", 0), Engine)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
