/*
 * A load generator for routers and proxies in front of the backend. One thread, epoll, persistent connections.
 *
 * load unary  closed loop: every connection sends its next request after the response
 * load rate   open loop: --rate requests per second; latency counts from the scheduled time of sending
 * load sse    every connection reads one stream after the other; the delay of an event counts from its stamp, the due
 *             time. Events that are overdue at the end of the measurement count as received at that moment. --gap-us is
 *             the time between two events; with 0 all are due at once and none is overdue
 * load hold   like sse, but the measurement starts after every stream has received its first event
 *
 * Every body is a valid and distinct chat: one of a pool of texts with an id inserted. By default the id is at the start
 * of the first message. With --splice end it is at the end of the last one, so texts of one pool entry share a prefix.
 * With --key each request has it in the header Authorization. Byte counts are those of bodies, without heads and chunk framing.
 *
 * It prints "begin" at the start of the measurement and one line of JSON at its end. It then keeps its connections open
 * for --linger seconds, so other programs can be examined before. Errors are a wrong status, a short or malformed
 * response, a connection closed early, and silence, also during warm-up. With any error "valid" is false.
 */
#define _GNU_SOURCE
#include "load_connection.h"

static unsigned linger_s;

/* ---- time */

static uint64_t due_of(uint64_t index) { return start + index * gap_ns; }

/* Sends due requests on idle connections. The latency of a delayed request counts from its due time. */
static void send_rated(uint64_t now) {
  while (idle_count && (!measuring || now < end_at) && due_of(rated) <= now) {
    connection *c = idle[--idle_count];
    uint64_t due = due_of(rated++);
    if (measuring && now - due > late_ns) {
      late_ns = now - due;
    }
    begin_request(c, due);
  }
}

static void open_due(uint64_t now) {
  while (opened < count && now >= start + ramp_ns / (uint64_t)count * (uint64_t)opened) {
    open_connection(&connections[opened++]);
  }
}

static void tick(uint64_t now) {
  next_tick = now + RETRY_NS;
  for (int i = 0; i < opened; i++) {
    connection *c = &connections[i];
    if (c->retry_at && c->retry_at <= now) {
      open_connection(c);
    } else if (c->busy && now > c->last_progress + timeout_ns) {
      failed(c, TIMEOUT);
    }
  }
}

/* CPU time of this process in seconds. */
static double cpu_seconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void begin_measuring(uint64_t now) {
  cpu_at_begin = cpu_seconds();
  measuring = 1;
  begin_at = now;
  end_at = now + seconds_ns;
  for (int i = 0; i < opened; i++) {
    connections[i].worst_delay = 0;
  }
  puts("begin");
  fflush(stdout);
}

static void look_at_clock(void) {
  uint64_t now = now_ns();
  open_due(now);
  if (mode == RATE) {
    send_rated(now);
  }
  if (now >= next_tick) {
    tick(now);
  }
  int ready = mode == HOLD ? held == count : now >= start + ramp_ns + warmup_ns;
  if (!measuring && ready) {
    begin_measuring(now);
  } else if (!measuring && mode == HOLD && now > start + ramp_ns + warmup_ns + timeout_ns) {
    fail("hold: only %d of %d streams have begun", held, count);
  }
  uint64_t next = next_tick;
  uint64_t others[] = {measuring ? end_at : start + ramp_ns + warmup_ns,
      opened < count ? start + ramp_ns / (uint64_t)count * (uint64_t)opened : next,
      mode == RATE && idle_count ? due_of(rated) : next};
  for (int i = 0; i < 3; i++) {
    next = others[i] < next ? others[i] : next;
  }
  if (next != armed) {
    armed = next;
    wake_at(timer, next ? next : 1);
  }
}

/* ---- result */

static void print_times(const char *name, const histogram *h) {
  static const double shares[] = {0.5, 0.9, 0.99, 0.999};
  static const char *const names[] = {"p50", "p90", "p99", "p999"};
  printf(",\"%s\":{", name);
  for (int i = 0; i < 4; i++) {
    printf("\"%s\":%.1f,", names[i], (double)percentile(h, shares[i]) / 1000);
  }
  printf("\"mean\":%.1f,\"max\":%.1f}", h->total ? (double)h->sum / (double)h->total / 1000 : 0, (double)h->most / 1000);
}

static void print_result(uint64_t now) {
  uint64_t all = 0;
  int open = 0;
  for (int i = 0; i < ERROR_KINDS; i++) {
    all += errors[i];
  }
  for (int i = 0; i < opened; i++) {
    open += connections[i].busy;
    if (mode >= SSE) {
      note_overdue(&connections[i], now);
      note_stall(&connections[i]);
    }
  }
  static const char *const modes[] = {"unary", "rate", "sse", "hold"};
  int worked = mode >= SSE ? events_seen > 0 || mode == HOLD : requests > 0;
  printf("{\"mode\":\"%s\",\"valid\":%s,\"connections\":%d,\"seconds\":%.6f,\"requests\":%lu,\"streams\":%lu,\"events\":%lu,"
      "\"overdue\":%lu,\"open\":%d,\"request_bytes\":%lu,\"response_bytes\":%lu,\"reconnects\":%lu,\"late_us\":%.1f,"
      "\"cpu_seconds\":%.6f,\"errors\":{",
      modes[mode], all == 0 && worked ? "true" : "false", count, (double)(now - begin_at) / 1e9, requests, streams,
      events_seen, overdue, open, sent_bytes, received_bytes, reconnects, (double)late_ns / 1000, cpu_seconds() - cpu_at_begin);
  for (int i = 0; i < ERROR_KINDS; i++) {
    printf("%s\"%s\":%lu", i ? "," : "", ERROR_NAMES[i], errors[i]);
  }
  printf("},\"sample\":\"");
  for (char *at = sample; *at >= ' '; at++) {
    putchar(*at == '"' || *at == '\\' ? '\'' : *at);
  }
  printf("\"");
  print_times("latency_us", &latency);
  print_times("delay_us", &delay);
  print_times("stall_us", &stall);
  puts("}");
  fflush(stdout);
}

static void read_options(int argc, char **argv) {
  static const char *const modes[] = {"unary", "rate", "sse", "hold"};
  int given = -1;
  for (int i = 0; argc > 1 && i < 4; i++) {
    given = strcmp(argv[1], modes[i]) ? given : i;
  }
  if (given < 0) {
    fail("usage: load unary|rate|sse|hold --target HOST:PORT [--connections N] [--seconds S] ... (see load.c)");
  }
  mode = (enum mode)given;
  known_options(argc, argv, 2, " --target --connections --seconds --warmup --ramp --size --message-bytes --pool --splice --rate"
      " --chunks --gap-us --timeout --linger --sources --least-body --key ");
  char host[64];
  snprintf(host, sizeof host, "%s", option(argc, argv, "--target", ""));
  char *colon = strchr(host, ':');
  if (!colon) {
    fail("--target: %s (expected: HOST:PORT)", host);
  }
  *colon = 0;
  target = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1))};
  if (inet_pton(AF_INET, host, &target.sin_addr) != 1) {
    fail("--target: %s (expected: an IPv4 address)", host);
  }
  *colon = ':';
  count = (int)number(argc, argv, "--connections", 64, 1, 100000);
  seconds_ns = (uint64_t)(number(argc, argv, "--seconds", 5, 0.01, 86400) * 1e9);
  warmup_ns = (uint64_t)(number(argc, argv, "--warmup", 1, 0, 3600) * 1e9);
  ramp_ns = (uint64_t)(number(argc, argv, "--ramp", 0, 0, 3600) * 1e9);
  timeout_ns = (uint64_t)(number(argc, argv, "--timeout", 15, 0.01, 3600) * 1e9);
  gap_ns = (uint64_t)(1e9 / number(argc, argv, "--rate", 1000, 0.1, 1e6));
  event_gap_ns = (uint64_t)(number(argc, argv, "--gap-us", 50000, 0, 1e9) * 1e3);
  linger_s = (unsigned)number(argc, argv, "--linger", 0, 0, 3600);
  sources = (int)number(argc, argv, "--sources", 1, 1, 200);
  wanted_events = (int)number(argc, argv, "--chunks", 100, 1, 1e9);
  least_body = (size_t)number(argc, argv, "--least-body", 100, 0, 1e9);
  pool_size = (int)number(argc, argv, "--pool", 64, 1, 100000);
  size_t size = (size_t)number(argc, argv, "--size", 2048, 150, 64e6);
  size_t message_bytes = (size_t)number(argc, argv, "--message-bytes", 4096, 1, 64e6);
  const char *splice = option(argc, argv, "--splice", "start");
  if (strcmp(splice, "start") && strcmp(splice, "end")) {
    fail("--splice: %s (expected: start or end)", splice);
  }
  random_state = 42;
  pool = grow(NULL, (size_t)pool_size * sizeof *pool);
  for (int i = 0; i < pool_size; i++) {
    prepare(&pool[i], mode >= SSE, size, message_bytes, !strcmp(splice, "end"), host, option(argc, argv, "--key", ""));
  }
  random_state = now_ns();
}

int main(int argc, char **argv) {
  read_options(argc, argv);
  if (raise_descriptor_limit() < (uint64_t)count + 16) {
    fail("--connections: %d (expected: less than ulimit -n)", count);
  }
  connections = calloc((size_t)count, sizeof *connections);
  idle = calloc((size_t)count, sizeof *idle);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
  epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &e);
  start = now_ns();
  while (!measuring || now_ns() < end_at) {
    look_at_clock();
    struct epoll_event events[256];
    int n = epoll_wait(epoll, events, 256, -1);
    for (int i = 0; i < n; i++) {
      connection *c = events[i].data.ptr;
      if (!c) {
        uint64_t ticks;
        (void)!read(timer, &ticks, sizeof ticks);
        armed = 0;
        continue;
      }
      if (events[i].events & EPOLLOUT) {
        transmit(c);
      }
      if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        on_readable(c, events[i].events & EPOLLRDHUP);
      }
    }
  }
  print_result(now_ns());
  sleep(linger_s);
  return 0;
}
