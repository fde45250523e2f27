/* Request bodies of the load generator: distinct chats with little CPU time for each. */
#ifndef POINTSMAN_BENCH_LOAD_BODIES_H
#define POINTSMAN_BENCH_LOAD_BODIES_H

#include "common.h"

#define ID_DIGITS 16

typedef struct {
  char *bytes;
  size_t length, body, splice; /* total length, body length, position of the id */
} request;

static uint64_t random_state;

static uint64_t next_random(void) {
  uint64_t z = random_state += 0x9e3779b97f4a7c15ULL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

/* Writes prose with line breaks, as JSON text of exactly the given number of bytes. */
static size_t prose(char *out, size_t bytes) {
  static const char *const words[] = {"the", "request", "of", "model", "and", "a", "token", "to", "worker", "in", "prefix", "that",
      "cache", "is", "was", "router", "holds", "long", "answer", "with", "stream", "for", "engine", "not", "every", "block"};
  size_t at = 0;
  while (at < bytes) {
    uint64_t r = next_random();
    const char *word = r % 13 == 0 ? "\\n" : words[r / 16 % (sizeof words / sizeof *words)];
    size_t length = strlen(word);
    if (at + length + 1 > bytes) {
      memset(out + at, '.', bytes - at);
      return bytes;
    }
    memcpy(out + at, word, length);
    out[at + length] = ' ';
    at += length + 1;
  }
  return at;
}

/*
 * Prepares a chat with messages of about message_bytes each, the last one from the user. The body has exactly the given
 * size. The position of the id is the start of the first message, or the end of the last.
 */
static void prepare(request *r, int stream, size_t size, size_t message_bytes, int splice_end, const char *host, const char *key) {
  char *body = grow(NULL, size + 1024);
  size_t at = (size_t)sprintf(body, "{\"model\":\"bench-model\",%s\"max_tokens\":16,\"messages\":[",
      stream ? "\"stream\":true," : "");
  const size_t end = 4 + (splice_end ? ID_DIGITS : 0); /* length of "}]} and of the id */
  size_t splice = 0;
  int last = 0;
  for (int turn = 0; !last; turn++) {
    last = at + message_bytes + 240 > size;
    at += (size_t)sprintf(body + at, "%s{\"role\":\"%s\",\"content\":\"", turn ? "," : "",
        turn % 2 && !last ? "assistant" : "user");
    if (turn == 0 && !splice_end) {
      splice = at;
      at += ID_DIGITS;
    }
    at += prose(body + at, !last ? message_bytes : size > at + end ? size - at - end : 0);
    if (last && splice_end) {
      splice = at;
      at += ID_DIGITS;
    }
    at += (size_t)sprintf(body + at, "\"}");
  }
  at += (size_t)sprintf(body + at, "]}");
  r->bytes = grow(NULL, at + 512 + strlen(key));
  int head = sprintf(r->bytes,
      "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nUser-Agent: pointsman-bench\r\nAccept: */*\r\n"
      "%s%s%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", host,
      *key ? "Authorization: Bearer " : "", key, *key ? "\r\n" : "", at);
  memcpy(r->bytes + head, body, at);
  r->length = (size_t)head + at;
  r->body = at;
  r->splice = (size_t)head + splice;
  free(body);
}

#endif
