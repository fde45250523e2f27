/* The backend's connections: sending, and the queue of streams by the due time of their next event. */
#ifndef POINTSMAN_BENCH_BACKEND_SEND_H
#define POINTSMAN_BENCH_BACKEND_SEND_H

#include "common.h"
#include "histogram.h"
#include <sys/epoll.h>

#define SCRATCH (16 << 10)
#define EDGE 4096
#define MAX_PORTS 8192
#define MAX_BODY (64u << 20)
#define MAX_PENDING (8u << 20)
#define MOST_SENT 256

typedef struct connection {
  int fd, port;       /* port: index of the listener */
  char *in;           /* received part of an incomplete request */
  size_t in_length, in_capacity;
  size_t left;        /* missing bytes of a large body */
  char *out;          /* data that the socket did not accept yet */
  size_t out_length, out_sent, out_capacity;
  uint32_t chunks;    /* remaining events */
  uint64_t due, gap;  /* due time of the next event, and the time between events, ns */
  int place;          /* index in the heap of streams; -1 without a running stream */
  char stream, close_after, writable_wanted;
} connection;

static int epoll, timer, port_count, listeners[MAX_PORTS];
static uint64_t requests[MAX_PORTS], body_bytes, streams, chunks_sent, aborted, renders, tokenizes;
static uint64_t set_chunks = 100, set_gap = 50000000;
static int set_render;
static char answer[1 << 20], scratch[SCRATCH], event[512];
static size_t answer_length, event_length, event_stamp;
static histogram late; /* delays of sent events, ns */
static connection **heap;
static size_t heap_size, heap_capacity;

static void consume_pending(connection *c);

/* ---- queue of streams by the due time of their next event */

static void put(size_t at, connection *c) {
  heap[at] = c;
  c->place = (int)at;
}

static void sift(size_t at) {
  connection *c = heap[at];
  while (at > 0 && heap[(at - 1) / 2]->due > c->due) {
    put(at, heap[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  for (;;) {
    size_t child = 2 * at + 1;
    if (child + 1 < heap_size && heap[child + 1]->due < heap[child]->due) {
      child++;
    }
    if (child >= heap_size || heap[child]->due >= c->due) {
      break;
    }
    put(at, heap[child]);
    at = child;
  }
  put(at, c);
}

static void schedule(connection *c) {
  if (heap_size == heap_capacity) {
    heap_capacity = heap_capacity ? heap_capacity * 2 : 1024;
    heap = grow(heap, heap_capacity * sizeof *heap);
  }
  put(heap_size++, c);
  sift(heap_size - 1);
}

static void unschedule(connection *c) {
  size_t at = (size_t)c->place;
  c->place = -1;
  heap_size--;
  if (at < heap_size) {
    put(at, heap[heap_size]);
    sift(at);
  }
}

/* ---- writing */

static void want(connection *c, int writable) {
  if (c->writable_wanted != writable) {
    c->writable_wanted = (char)writable;
    struct epoll_event e = {.events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &e);
  }
}

static void drop(connection *c) {
  if (c->place >= 0) {
    aborted++;
    unschedule(c);
  }
  close(c->fd);
  free(c->in);
  free(c->out);
  free(c);
}

/* Sends or buffers data. Returns 0 if the connection is broken; its reader then drops it. */
static int transmit(connection *c, const char *data, size_t length) {
  size_t sent = 0;
  if (c->out_length == c->out_sent) {
    ssize_t n = send(c->fd, data, length, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) {
      return 0;
    }
    sent = n < 0 ? 0 : (size_t)n;
  }
  if (sent == length) {
    return 1;
  }
  if (c->out_length + length - sent > c->out_capacity) {
    memmove(c->out, c->out + c->out_sent, c->out_length - c->out_sent);
    c->out_length -= c->out_sent;
    c->out_sent = 0;
    c->out_capacity = c->out_length + length - sent + EDGE;
    if (c->out_capacity > MAX_PENDING) {
      shutdown(c->fd, SHUT_RDWR);
      return 0;
    }
    c->out = grow(c->out, c->out_capacity);
  }
  memcpy(c->out + c->out_length, data + sent, length - sent);
  c->out_length += length - sent;
  want(c, 1);
  return 1;
}

static void on_writable(connection *c) {
  ssize_t n = send(c->fd, c->out + c->out_sent, c->out_length - c->out_sent, MSG_NOSIGNAL);
  if (n > 0) {
    c->out_sent += (size_t)n;
  }
  if (c->out_sent == c->out_length) {
    free(c->out);
    c->out = NULL;
    c->out_length = c->out_sent = c->out_capacity = 0;
    want(c, 0);
    if (c->close_after && c->place < 0) {
      shutdown(c->fd, SHUT_WR);
    }
  }
}

static void respond(connection *c, int status, const char *body, size_t length) {
  char head[160];
  int n = snprintf(head, sizeof head, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
      status, status == 200 ? "OK" : "Not Found", length);
  transmit(c, head, (size_t)n);
  transmit(c, body, length);
}

/* ---- streams */

static const char STREAM_HEAD[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";
/* Token counts as engines send them; routers read them. */
#define USAGE \
  "{\"prompt_tokens\":512,\"completion_tokens\":100,\"total_tokens\":612,\"prompt_tokens_details\":{\"cached_tokens\":0}}"
static const char STREAM_END[] =
    "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench-model\","
    "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench-model\","
    "\"choices\":[],\"usage\":" USAGE "}\n\ndata: [DONE]\n\n";

static void stamp(uint64_t t) {
  for (int i = STAMP_DIGITS - 1; i >= 0; i--, t /= 10) {
    event[event_stamp + (size_t)i] = (char)('0' + t % 10);
  }
}

static void prepare_event(void) {
  static const char text[] =
      "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench-model\","
      "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"@0000000000000000000 \"},\"finish_reason\":null}]}\n\n";
  event_length = (size_t)snprintf(event, sizeof event, "%zx\r\n%s\r\n", sizeof text - 1, text);
  event_stamp = (size_t)(strchr(event, '@') + 1 - event);
}

static int end_stream(connection *c) {
  char end[sizeof STREAM_END + 64];
  int n = snprintf(end, sizeof end, "%zx\r\n%s\r\n0\r\n\r\n", sizeof STREAM_END - 1, STREAM_END);
  streams++;
  return transmit(c, end, (size_t)n);
}

/* Sends all events in one write. */
static void burst(connection *c) {
  size_t length = 0;
  char *all = grow(NULL, c->chunks * event_length + 1);
  stamp(now_ns());
  for (; c->chunks; c->chunks--, length += event_length) {
    memcpy(all + length, event, event_length);
    chunks_sent++;
  }
  transmit(c, all, length);
  free(all);
  end_stream(c);
}

/*
 * Delay of a stream's first event: half a gap to one and a half gaps, evenly distributed (multiples of the golden
 * ratio). With equal delays, streams of requests that arrive in one batch would send all their events in batches. The load
 * would then depend on the proxy: batched forwarding gives fewer, longer bursts.
 */
static uint64_t first_gap(uint64_t gap) {
  static uint32_t phase;
  phase += 2654435769u;
  return FIRST_GAP_MOST(gap) - gap + (gap * (phase >> 16) >> 16);
}

static void begin_stream(connection *c) {
  transmit(c, STREAM_HEAD, sizeof STREAM_HEAD - 1);
  c->chunks = (uint32_t)set_chunks;
  c->gap = set_gap;
  if (c->gap == 0 || c->chunks == 0) {
    burst(c);
  } else {
    c->due = now_ns() + first_gap(c->gap);
    schedule(c);
  }
}

/* Sends due events, at most MOST_SENT per call. Without the limit a late backend would never read, not even a probe. */
static void send_due(void) {
  uint64_t now = now_ns();
  for (int sent = 0; sent < MOST_SENT && heap_size && heap[0]->due <= now; sent++) {
    connection *c = heap[0];
    record(&late, now - c->due);
    stamp(c->due);
    int whole = transmit(c, event, event_length);
    chunks_sent++;
    if (--c->chunks && whole) {
      c->due += c->gap;
      sift(0);
    } else {
      unschedule(c);
      if (whole) {
        end_stream(c);
        consume_pending(c);
      } else {
        aborted++;
      }
    }
    now = now_ns();
  }
  wake_at(timer, heap_size ? heap[0]->due : 0);
}

#endif
