/*
 * A fast OpenAI-compatible backend for measurements of routers and proxies. One thread, epoll.
 *
 * backend --ports N [--host A] [--answer-bytes B] listens on N free ports and prints {"ports":[...]}. It counts requests
 * per port. The response to a POST is a chat completion, or events if the request contains "stream":true. The text of an
 * event is its due time: "@" and 19 digits, in ns of the monotonic clock. A late backend is therefore visible.
 *
 * GET /__set?chunks=100&gap_us=50000&render=1 sets the events per stream, the time between them (0: all at once), and
 * the response to the engine call /v1/chat/completions/render (0: 404).
 * GET /__counts returns counts of served requests, and the delays of sent events since the previous call (late_p99_us,
 * latest_us).
 */
#define _GNU_SOURCE
#include "backend_send.h"

/* ---- answers */

/* Sends a response in the format of a tokenizer: one id per four bytes, derived from the text. */
static void answer_tokens(connection *c, const char *body, size_t length, int render) {
  size_t count = length / 4 + 1, at = 0;
  char *out = grow(NULL, count * 6 + 160);
  at += (size_t)sprintf(out, render ? "{\"request_id\":\"r\",\"token_ids\":[" : "{\"tokens\":[");
  for (size_t i = 0; i < count; i++) {
    uint32_t word = 0;
    memcpy(&word, body + i * 4, i * 4 + 4 <= length ? 4 : length - i * 4);
    uint32_t id = 10000 + (word * 2654435761u >> 8) % 90000;
    for (int digit = 4; digit >= 0; digit--, id /= 10) {
      out[at + (size_t)digit] = (char)('0' + id % 10);
    }
    out[at + 5] = ',';
    at += 6;
  }
  at--;
  at += (size_t)(render ? sprintf(out + at, "]}") : sprintf(out + at, "],\"count\":%zu,\"max_model_len\":4000000}", count));
  respond(c, 200, out, at);
  free(out);
}

static void answer_counts(connection *c) {
  char *out = grow(NULL, 512 + 21 * (size_t)port_count);
  uint64_t total = 0;
  int at = 0;
  for (int i = 0; i < port_count; i++) {
    total += requests[i];
  }
  at += sprintf(out + at,
      "{\"requests\":%lu,\"body_bytes\":%lu,\"streams\":%lu,\"chunks\":%lu,\"aborted\":%lu,\"renders\":%lu,"
      "\"tokenizes\":%lu,\"late_p99_us\":%lu,\"latest_us\":%lu,\"now_us\":%lu,\"counts\":[",
      total, body_bytes, streams, chunks_sent, aborted, renders, tokenizes, percentile(&late, 0.99) / 1000,
      late.most / 1000, now_ns() / 1000);
  for (int i = 0; i < port_count; i++) {
    at += sprintf(out + at, "%s%lu", i ? "," : "", requests[i]);
  }
  at += sprintf(out + at, "]}");
  memset(&late, 0, sizeof late);
  respond(c, 200, out, (size_t)at);
  free(out);
}

static void setting(const char *line, const char *end, const char *name, uint64_t *value) {
  const char *at = memmem(line, (size_t)(end - line), name, strlen(name));
  if (at) {
    *value = strtoull(at + strlen(name), NULL, 10);
  }
}

static void answer_set(connection *c, const char *line, const char *end) {
  uint64_t gap_us = set_gap / 1000, render = (uint64_t)set_render;
  setting(line, end, "chunks=", &set_chunks);
  setting(line, end, "gap_us=", &gap_us);
  setting(line, end, "render=", &render);
  set_gap = gap_us * 1000;
  set_render = render != 0;
  respond(c, 200, "{}", 2);
}

static int starts(const char *text, const char *prefix) { return !strncmp(text, prefix, strlen(prefix)); }

static int path_ends(const char *line, const char *end, const char *suffix) {
  size_t length = strlen(suffix);
  return (size_t)(end - line) >= length && !memcmp(end - length, suffix, length);
}

static int says_stream(const char *part, size_t length) {
  const char *at = memmem(part, length, "\"stream\"", 8);
  if (!at) {
    return 0;
  }
  const char *end = part + length;
  for (at += 8; at < end && (*at == ' ' || *at == ':'); at++) {
  }
  return end - at >= 4 && !memcmp(at, "true", 4);
}

static void answer_get(connection *c, const char *path, const char *end) {
  static const char models[] =
      "{\"object\":\"list\",\"data\":[{\"id\":\"bench-model\",\"object\":\"model\",\"created\":1700000000,"
      "\"owned_by\":\"bench\",\"max_model_len\":4000000}]}";
  if (starts(path, "/v1/models")) {
    respond(c, 200, models, sizeof models - 1);
  } else if (starts(path, "/health")) {
    respond(c, 200, "{}", 2);
  } else if (starts(path, "/__counts")) {
    answer_counts(c);
  } else if (starts(path, "/__set")) {
    answer_set(c, path, end);
  } else {
    respond(c, 404, "{}", 2);
  }
}

static void answer_post(connection *c, int stream, size_t length) {
  requests[c->port]++;
  body_bytes += length;
  if (stream) {
    begin_stream(c);
  } else {
    transmit(c, answer, answer_length);
  }
}

/* ---- reading */

/* Decodes a chunked body in place. Returns its raw length; 0 if it is incomplete. */
static size_t unchunk(char *body, size_t length, size_t *decoded) {
  size_t at = 0;
  *decoded = 0;
  for (;;) {
    char *line = memchr(body + at, '\n', length - at);
    if (!line) {
      return 0;
    }
    size_t size = strtoul(body + at, NULL, 16);
    at = (size_t)(line + 1 - body);
    if (size > MAX_BODY || at + size + 2 > length) {
      return 0;
    }
    memmove(body + *decoded, body + at, size);
    *decoded += size;
    at += size + 2;
    if (size == 0) {
      return at;
    }
  }
}

static size_t consume_one(connection *c, char *data, size_t length) {
  const char *body = head_end(data, length);
  if (!body) {
    return 0;
  }
  size_t head = (size_t)(body - data), have = length - head, used;
  const char *path = memchr(data, ' ', head);
  const char *path_end = path ? memchr(path + 1, ' ', head - (size_t)(path + 1 - data)) : NULL;
  if (!path_end) {
    shutdown(c->fd, SHUT_RDWR);
    return length;
  }
  path++;
  const char *value = header(data, body, "content-length:"), *connection_header = header(data, body, "connection:");
  size_t content = value ? strtoul(value, NULL, 10) : 0;
  c->close_after = connection_header && !strncasecmp(connection_header, "close", 5);
  if (header(data, body, "transfer-encoding:")) {
    /* Decodes a copy, because an incomplete body is decoded again after further data. */
    char *copy = memcpy(grow(NULL, have + 1), body, have);
    copy[have] = 0;
    size_t raw = unchunk(copy, have, &content);
    if (raw) {
      memcpy(data + head, copy, content);
    }
    free(copy);
    if (!raw) {
      return 0;
    }
    used = head + raw;
  } else if (have < content) {
    int calls_engine = path_ends(path, path_end, "/render") || path_ends(path, path_end, "/tokenize");
    if (content <= SCRATCH || calls_engine || have < EDGE) {
      if (have == 0 && header(data, body, "expect:")) {
        transmit(c, "HTTP/1.1 100 Continue\r\n\r\n", 25);
      }
      return 0;
    }
    c->stream = (char)says_stream(body, EDGE);
    c->left = content - have;
    requests[c->port]++;
    body_bytes += content;
    return length;
  } else {
    used = head + content;
  }
  if (starts(data, "POST")) {
    if (path_ends(path, path_end, "/render") && set_render) {
      renders++;
      answer_tokens(c, body, content, 1);
    } else if (path_ends(path, path_end, "/render")) {
      renders++;
      respond(c, 404, "{\"detail\":\"Not Found\"}", 22);
    } else if (path_ends(path, path_end, "/tokenize")) {
      tokenizes++;
      answer_tokens(c, body, content, 0);
    } else {
      size_t edge = content < EDGE ? content : EDGE;
      answer_post(c, says_stream(body, edge) || says_stream(body + content - edge, edge), content);
    }
  } else {
    answer_get(c, path, path_end);
  }
  if (c->close_after && c->place < 0 && !c->out) {
    shutdown(c->fd, SHUT_WR);
  }
  return used;
}

/* Answers complete requests and keeps the rest. While a stream runs, further requests wait. */
static void consume(connection *c, char *data, size_t length) {
  size_t at = 0;
  while (at < length && c->place < 0 && !c->left) {
    size_t used = consume_one(c, data + at, length - at);
    if (!used) {
      break;
    }
    at += used;
  }
  size_t rest = length - at;
  if (rest == 0) {
    free(c->in);
    c->in = NULL;
    c->in_length = c->in_capacity = 0;
  } else if (data == c->in) {
    memmove(c->in, c->in + at, rest);
    c->in_length = rest;
  } else {
    c->in = grow(c->in, c->in_capacity = rest + SCRATCH);
    memcpy(c->in, data + at, rest);
    c->in_length = rest;
  }
}

static void consume_pending(connection *c) {
  if (c->in_length) {
    consume(c, c->in, c->in_length);
  } else if (c->close_after && !c->out) {
    shutdown(c->fd, SHUT_WR);
  }
}

/* Discards the rest of a large body in the kernel. Only its end is read, because it may contain "stream":true. */
static ssize_t read_large(connection *c) {
  if (c->left > EDGE) {
    ssize_t n = recv(c->fd, NULL, c->left - EDGE, MSG_TRUNC);
    if (n > 0) {
      c->left -= (size_t)n;
    }
    return n;
  }
  ssize_t n = recv(c->fd, scratch, c->left, 0);
  if (n > 0) {
    c->stream |= (char)says_stream(scratch, (size_t)n);
    c->left -= (size_t)n;
    if (!c->left && c->stream) {
      begin_stream(c);
    } else if (!c->left) {
      transmit(c, answer, answer_length);
      consume_pending(c);
    }
  }
  return n;
}

static void on_readable(connection *c) {
  ssize_t n;
  if (c->left) {
    while ((n = read_large(c)) > 0 && c->left) {
    }
  } else if (c->in_length) {
    if (c->in_capacity - c->in_length < SCRATCH) {
      c->in = grow(c->in, c->in_capacity = c->in_capacity * 2 + SCRATCH);
    }
    n = recv(c->fd, c->in + c->in_length, c->in_capacity - c->in_length, 0);
    if (n > 0) {
      c->in_length += (size_t)n;
      consume(c, c->in, c->in_length);
    }
  } else {
    n = recv(c->fd, scratch, sizeof scratch, 0);
    if (n > 0) {
      consume(c, scratch, (size_t)n);
    }
  }
  if (n == 0 || (n < 0 && errno != EAGAIN) || c->in_length > MAX_BODY) {
    drop(c);
  }
}

/* ---- listening */

static void accept_all(int index) {
  int fd;
  while ((fd = accept4(listeners[index], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    connection *c = grow(NULL, sizeof *c);
    *c = (connection){.fd = fd, .port = index, .place = -1};
    no_delay(fd);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
  }
  if (errno == EMFILE || errno == ENFILE) {
    fail("out of descriptors: raise ulimit -n");
  }
}

static void listen_all(const char *host) {
  printf("{\"ports\":[");
  for (int i = 0; i < port_count; i++) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
      fail("--host: %s (expected: an IPv4 address)", host);
    }
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) || listen(fd, 4096)) {
      fail("cannot listen on port %d of %d: %s", i + 1, port_count, strerror(errno));
    }
    getsockname(fd, (struct sockaddr *)&address, &length);
    listeners[i] = fd;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &listeners[i]};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
    printf("%s%d", i ? "," : "", ntohs(address.sin_port));
  }
  printf("]}\n");
  fflush(stdout);
}

static void prepare_answer(size_t bytes) {
  char *body = grow(NULL, bytes + 512);
  int n = sprintf(body,
      "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"bench-model\","
      "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"");
  while ((size_t)n + 60 + sizeof USAGE < bytes) {
    body[n] = "the quick brown fox "[n % 20];
    n++;
  }
  n += sprintf(body + n,
      "\"},\"finish_reason\":\"stop\"}],\"usage\":" USAGE "}");
  answer_length = (size_t)snprintf(answer, sizeof answer,
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", n, body);
  free(body);
}

int main(int argc, char **argv) {
  known_options(argc, argv, 1, " --ports --host --answer-bytes ");
  port_count = (int)number(argc, argv, "--ports", 4, 1, MAX_PORTS);
  prepare_answer((size_t)number(argc, argv, "--answer-bytes", 400, 1, 500000));
  prepare_event();
  raise_descriptor_limit();
  epoll = epoll_create1(EPOLL_CLOEXEC);
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = &timer};
  epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &e);
  listen_all(option(argc, argv, "--host", "127.0.0.1"));
  for (;;) {
    struct epoll_event events[256];
    int n = epoll_wait(epoll, events, 256, -1);
    for (int i = 0; i < n; i++) {
      void *what = events[i].data.ptr;
      if (what == &timer) {
        uint64_t ticks;
        (void)!read(timer, &ticks, sizeof ticks);
      } else if ((int *)what >= listeners && (int *)what < listeners + MAX_PORTS) {
        accept_all((int)((int *)what - listeners));
      } else {
        connection *c = what;
        if (events[i].events & EPOLLOUT) {
          on_writable(c);
        }
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
          on_readable(c);
        }
      }
    }
    send_due();
  }
}
