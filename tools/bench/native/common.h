/* Shared by backend and load generator: clock, options, sockets, HTTP heads. */
#ifndef POINTSMAN_BENCH_COMMON_H
#define POINTSMAN_BENCH_COMMON_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define STAMP_DIGITS 19
#define NS_PER_S 1000000000ULL

/* Longest delay of a stream's first event after its request; the shortest is half a gap. */
#define FIRST_GAP_MOST(gap) ((gap) + (gap) / 2)

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(2);
}

/* Monotonic time in nanoseconds; the same clock for all processes of the machine. */
static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void *grow(void *block, size_t bytes) {
  void *grown = realloc(block, bytes);
  if (!grown) {
    fail("out of memory");
  }
  return grown;
}

/* Value of the option "--name value"; fallback if the option is missing. */
static const char *option(int argc, char **argv, const char *name, const char *fallback) {
  for (int i = 1; i + 1 < argc; i++) {
    if (!strcmp(argv[i], name)) {
      return argv[i + 1];
    }
  }
  return fallback;
}

static double number(int argc, char **argv, const char *name, double fallback, double least, double most) {
  const char *text = option(argc, argv, name, NULL);
  if (!text) {
    return fallback;
  }
  char *end;
  double value = strtod(text, &end);
  if (*end || end == text || !(value >= least && value <= most)) {
    fail("%s: %s (expected: a number from %.0f to %.0f)", name, text, least, most);
  }
  return value;
}

/* Fails on an unknown option, because a typing error would change the measurement. */
static void known_options(int argc, char **argv, int first, const char *known) {
  for (int i = first; i < argc; i += 2) {
    char padded[64];
    snprintf(padded, sizeof padded, " %s ", argv[i]);
    if (!strstr(known, padded)) {
      fail("%s: unknown (expected:%s)", argv[i], known);
    }
    if (i + 1 == argc) {
      fail("%s: value missing", argv[i]);
    }
  }
}

/* Raises the descriptor limit to its maximum. Returns the limit. */
static uint64_t raise_descriptor_limit(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

static void no_delay(int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* Sets the timer of the epoll loop to a time of the monotonic clock; 0 disarms it. */
static void wake_at(int timer, uint64_t at) {
  struct itimerspec when = {.it_value = {(time_t)(at / NS_PER_S), (long)(at % NS_PER_S)}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Position after a head and its empty line; NULL if the head is incomplete. */
static const char *head_end(const char *data, size_t length) {
  const char *end = memmem(data, length, "\r\n\r\n", 4);
  return end ? end + 4 : NULL;
}

/* Value of a header in a complete head; NULL if it is missing. The name includes the colon. */
static const char *header(const char *head, const char *end, const char *name) {
  size_t length = strlen(name);
  for (const char *line = memchr(head, '\n', (size_t)(end - head)); line && line + 1 + length < end;
       line = memchr(line, '\n', (size_t)(end - line))) {
    line++;
    if ((*line | 32) == (*name | 32) && !strncasecmp(line, name, length)) {
      const char *value = line + length;
      while (*value == ' ') {
        value++;
      }
      return value;
    }
  }
  return NULL;
}

#endif
