/* The load generator's connections: they send a request and check its response during reception. */
#ifndef POINTSMAN_BENCH_LOAD_CONNECTION_H
#define POINTSMAN_BENCH_LOAD_CONNECTION_H

#include "histogram.h"
#include "load_bodies.h"
#include <sys/epoll.h>
#include <sys/uio.h>

#define SCRATCH (128 << 10)
#define RETRY_NS 20000000ULL
#define MAX_HEAD (16 << 10)

enum mode { UNARY, RATE, SSE, HOLD };
enum error { CONNECT, CLOSED, STATUS, SHORT, MALFORMED, TIMEOUT, ERROR_KINDS };
static const char *const ERROR_NAMES[] = {"connect", "closed", "status", "short", "malformed", "timeout"};

/* The next part of a response. */
enum part { HEAD, LENGTH, UNTIL_CLOSE, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, LAST_LINE };

typedef struct connection {
  int fd;
  char open, busy, close_after, first_event;
  uint64_t started, retry_at; /* scheduled time of sending; time of the next connect, 0: none */
  const request *sending;
  size_t sent;
  char id[ID_DIGITS];
  enum part part;
  char *head;
  size_t head_length, left, body;
  uint32_t events;
  int stamp_digits; /* digits read of the current stamp; -1: none */
  uint64_t stamp, last_progress, worst_delay;
  uint64_t next_due; /* latest due time of a stream's next event */
  char tail[8];
} connection;

static enum mode mode;
static struct sockaddr_in target;
static int epoll, timer, count, sources, wanted_events, opened, held, idle_count;
static connection *connections, **idle;
static request *pool;
static int pool_size;
static uint64_t seconds_ns, warmup_ns, ramp_ns, timeout_ns, gap_ns, event_gap_ns, start, begin_at, end_at, next_tick, armed;
static uint64_t requests, sent_bytes, received_bytes, streams, events_seen, errors[ERROR_KINDS], reconnects, rated, late_ns, overdue;
static size_t least_body;
static int measuring;
static double cpu_at_begin;
static histogram latency, delay, stall;
static char scratch[SCRATCH], sample[160];

/* ---- connections */

static void begin_request(connection *c, uint64_t due);

static void disconnect(connection *c) {
  if (c->open) {
    close(c->fd);
  }
  for (int i = 0; i < idle_count; i++) {
    if (idle[i] == c) {
      idle[i] = idle[--idle_count];
    }
  }
  c->open = c->busy = 0;
}

static void later(connection *c) { c->retry_at = now_ns() + RETRY_NS; }

static void failed(connection *c, enum error kind) {
  errors[kind]++;
  disconnect(c);
  later(c);
}

static void open_connection(connection *c) {
  c->retry_at = 0;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c->fd < 0) {
    fail("socket: %s", strerror(errno));
  }
  c->open = 1;
  no_delay(c->fd);
  if (sources > 1) {
    int one = 1;
    setsockopt(c->fd, IPPROTO_IP, 24 /* IP_BIND_ADDRESS_NO_PORT */, &one, sizeof one);
    struct sockaddr_in source = {.sin_family = AF_INET};
    source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(c - connections) % (uint32_t)sources);
    if (bind(c->fd, (struct sockaddr *)&source, sizeof source)) {
      fail("bind: %s", strerror(errno));
    }
  }
  struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
  epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &e);
  if (connect(c->fd, (struct sockaddr *)&target, sizeof target) && errno != EINPROGRESS) {
    failed(c, CONNECT);
  } else if (mode == RATE) {
    idle[idle_count++] = c;
  } else {
    begin_request(c, now_ns());
  }
}

/* ---- sending */

static void transmit(connection *c) {
  const request *r = c->sending;
  if (!c->open || !r || c->sent == r->length) {
    return;
  }
  struct iovec parts[3] = {{r->bytes, r->splice}, {c->id, ID_DIGITS},
      {r->bytes + r->splice + ID_DIGITS, r->length - r->splice - ID_DIGITS}};
  size_t skip = c->sent;
  int first = 0;
  for (; first < 2 && skip >= parts[first].iov_len; first++) {
    skip -= parts[first].iov_len;
  }
  parts[first].iov_base = (char *)parts[first].iov_base + skip;
  parts[first].iov_len -= skip;
  struct msghdr message = {.msg_iov = parts + first, .msg_iovlen = (size_t)(3 - first)};
  ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
  if (n >= 0) {
    c->sent += (size_t)n;
  } else if (errno != EAGAIN && errno != ENOTCONN) {
    failed(c, errno == ECONNREFUSED ? CONNECT : CLOSED);
  }
}

static void begin_request(connection *c, uint64_t due) {
  c->sending = &pool[next_random() % (uint64_t)pool_size];
  c->sent = c->body = c->head_length = 0;
  c->part = HEAD;
  c->events = 0;
  c->stamp_digits = -1;
  c->worst_delay = 0;
  c->busy = 1;
  c->started = due;
  c->next_due = due + FIRST_GAP_MOST(event_gap_ns);
  c->last_progress = now_ns();
  uint64_t id = next_random();
  for (int i = 0; i < ID_DIGITS; i++, id >>= 4) {
    c->id[i] = "0123456789abcdef"[id & 15];
  }
  transmit(c);
}

/* ---- receiving */

static void on_event(connection *c, uint64_t now) {
  c->events++;
  c->next_due = c->stamp + event_gap_ns;
  uint64_t took = now > c->stamp ? now - c->stamp : 0;
  if (took > c->worst_delay) {
    c->worst_delay = took;
  }
  if (measuring) {
    events_seen++;
    record(&delay, took);
  }
  if (!c->first_event) {
    c->first_event = 1;
    held++;
  }
}

/* Finds the stamps in the text of a stream. A stamp may be split over packets. */
static void scan_events(connection *c, const char *data, size_t length) {
  uint64_t now = now_ns();
  c->last_progress = now;
  const char *end = data + length, *at = data;
  while (at < end) {
    if (c->stamp_digits < 0) {
      at = memchr(at, '@', (size_t)(end - at));
      if (!at) {
        break;
      }
      at++;
      c->stamp_digits = 0;
      c->stamp = 0;
    }
    while (at < end && c->stamp_digits < STAMP_DIGITS && *at >= '0' && *at <= '9') {
      c->stamp = c->stamp * 10 + (uint64_t)(*at++ - '0');
      c->stamp_digits++;
    }
    if (c->stamp_digits == STAMP_DIGITS) {
      on_event(c, now);
      c->stamp_digits = -1;
    } else if (at < end) {
      c->stamp_digits = -1;
    }
  }
  /* Keeps the last eight bytes of the text, oldest first. */
  if (length >= sizeof c->tail) {
    memcpy(c->tail, end - sizeof c->tail, sizeof c->tail);
  } else {
    memmove(c->tail, c->tail + length, sizeof c->tail - length);
    memcpy(c->tail + sizeof c->tail - length, data, length);
  }
}

static void take_body(connection *c, const char *data, size_t length) {
  c->body += length;
  if (measuring) {
    received_bytes += length;
  }
  if (mode >= SSE) {
    scan_events(c, data, length);
  }
}

static void note_stall(connection *c) {
  if (measuring && (c->events || c->worst_delay)) {
    record(&stall, c->worst_delay);
  }
}

/* Counts events that are due but not received as received now, a lower bound of their delay. */
static void note_overdue(connection *c, uint64_t now) {
  /* Without a gap, events have no separate due times. */
  if (!c->busy || !event_gap_ns || c->next_due >= now) {
    return;
  }
  if (now - c->next_due > c->worst_delay && c->events < (uint32_t)wanted_events) {
    c->worst_delay = now - c->next_due;
  }
  uint64_t due = c->next_due;
  for (uint32_t i = c->events; i < (uint32_t)wanted_events && due < now; i++, due += event_gap_ns) {
    record(&delay, now - due);
    overdue++;
  }
}

static void finish(connection *c) {
  int is_short = mode >= SSE ? c->events != (uint32_t)wanted_events || !memmem(c->tail, sizeof c->tail, "[DONE]", 6)
                             : c->body < least_body;
  if (is_short || c->sent < c->sending->length) {
    failed(c, SHORT);
    return;
  }
  uint64_t now = now_ns();
  if (measuring) {
    requests++;
    streams += mode >= SSE;
    sent_bytes += c->sending->body;
    record(&latency, now - c->started);
  }
  note_stall(c);
  c->busy = 0;
  if (c->close_after) {
    disconnect(c);
    reconnects++;
    open_connection(c);
  } else if (mode == RATE) {
    idle[idle_count++] = c;
  } else {
    begin_request(c, now);
  }
}

/* Reads a complete head. Returns 0 if the response failed. */
static int take_head(connection *c, const char *head, const char *end) {
  if (memcmp(head, "HTTP/1.1 200", 12)) {
    if (!*sample) {
      size_t length = (size_t)(end - head) < sizeof sample - 1 ? (size_t)(end - head) : sizeof sample - 1;
      memcpy(sample, head, length);
    }
    failed(c, memcmp(head, "HTTP/1.", 7) ? MALFORMED : STATUS);
    return 0;
  }
  const char *length = header(head, end, "content-length:"), *encoding = header(head, end, "transfer-encoding:");
  const char *then = header(head, end, "connection:");
  c->close_after = then && !strncasecmp(then, "close", 5);
  if (encoding && !strncasecmp(encoding, "chunked", 7)) {
    c->part = CHUNK_SIZE;
    c->left = 0;
  } else if (length) {
    c->part = LENGTH;
    c->left = strtoul(length, NULL, 10);
  } else {
    c->part = UNTIL_CLOSE;
    c->close_after = 1;
  }
  return 1;
}

/* Reads a head, which may arrive in parts. Returns the consumed bytes; SIZE_MAX if the connection failed. */
static size_t read_head(connection *c, const char *data, size_t length) {
  if (c->head_length == 0) {
    const char *end = head_end(data, length);
    if (end) {
      return take_head(c, data, end) ? (size_t)(end - data) : SIZE_MAX;
    }
  }
  size_t before = c->head_length;
  if (before + length > MAX_HEAD) {
    failed(c, MALFORMED);
    return SIZE_MAX;
  }
  c->head = grow(c->head, before + length);
  memcpy(c->head + before, data, length);
  c->head_length = before + length;
  const char *end = head_end(c->head, c->head_length);
  if (!end) {
    return length;
  }
  size_t used = (size_t)(end - c->head) - before;
  c->head_length = 0;
  return take_head(c, c->head, end) ? used : SIZE_MAX;
}

/* Reads one byte of a chunk's size line. Returns 0 if it is malformed. */
static int read_chunk_size(connection *c, char byte) {
  if (byte == '\n') {
    c->part = c->left ? CHUNK_DATA : LAST_LINE;
    c->head_length = 0;
  } else if (byte != '\r') {
    const char *digits = "0123456789abcdef", *at = strchr(digits, byte | 32);
    if (!byte || !at || c->left > MAX_HEAD * 1024UL) {
      return 0;
    }
    c->left = c->left * 16 + (size_t)(at - digits);
  }
  return 1;
}

/* Parses the next bytes of a response. */
static void read_answer(connection *c, const char *data, size_t length) {
  size_t at = 0;
  while (at < length) {
    if (!c->busy) {
      failed(c, MALFORMED);
      return;
    }
    size_t take = length - at < c->left ? length - at : c->left;
    switch (c->part) {
      case HEAD: {
        size_t used = read_head(c, data + at, length - at);
        if (used == SIZE_MAX) {
          return;
        }
        at += used;
        break;
      }
      case LENGTH:
      case CHUNK_DATA:
        take_body(c, data + at, take);
        at += take;
        c->left -= take;
        if (!c->left && c->part == CHUNK_DATA) {
          c->part = CHUNK_END;
          c->left = 2;
        }
        break;
      case UNTIL_CLOSE:
        take_body(c, data + at, length - at);
        at = length;
        break;
      case CHUNK_END:
        at += take;
        c->left -= take;
        if (!c->left) {
          c->part = CHUNK_SIZE;
        }
        break;
      case CHUNK_SIZE:
        if (!read_chunk_size(c, data[at++])) {
          failed(c, MALFORMED);
          return;
        }
        break;
      case LAST_LINE: /* no trailers expected: the next line ends the response */
        if (data[at++] == '\n') {
          finish(c);
          return;
        }
        break;
    }
    if (c->part == LENGTH && !c->left && c->open) {
      finish(c);
      if (at < length && c->open) {
        failed(c, MALFORMED);
      }
      return;
    }
  }
}

/* Reads until a short read, which has emptied the socket. If the end of the connection is signalled, reads on to it. */
static void on_readable(connection *c, int ended) {
  while (c->open) {
    ssize_t n = recv(c->fd, scratch, sizeof scratch, 0);
    if (n > 0) {
      read_answer(c, scratch, (size_t)n);
      if (n < (ssize_t)sizeof scratch && !ended) {
        return;
      }
    } else if (n == 0 && c->busy && c->part == UNTIL_CLOSE) {
      finish(c);
    } else if (n == 0 && !c->busy) {
      /* The peer closed an idle connection, which is no error; a new one replaces it. */
      disconnect(c);
      reconnects++;
      open_connection(c);
    } else if (n < 0 && errno == EAGAIN) {
      return;
    } else {
      failed(c, n < 0 && errno == ECONNREFUSED ? CONNECT : CLOSED);
    }
  }
}

#endif
