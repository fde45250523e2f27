package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Generator of valid and invalid requests. */
final class RequestTexts {
  private static final String[] METHODS = {"GET", "POST", "PUT", "DELETE", "M-SEARCH", "PoSt"};
  private static final String[] TARGETS = {
    "/",
    "/v1/chat/completions",
    "/v1/models?a=b&c=%20",
    "http://h:1/v1/x?y",
    "HTTPS://h?next=/health",
    "http://h",
    "/a//b/../c;d?u=http://h/v1/x"
  };
  private static final String[] EXTRAS = {
    "accept: */*",
    "X-Empty:",
    "x-tab:\ta\tb\t",
    "X-Key: Bearer sk-1",
    "x-u: \u00e9\u00ff",
    "Connection: keep-alive, x-u",
    "Accept:text/event-stream , application/json  ",
    "x-long: " + "v".repeat(300)
  };

  /** Header lines of request smuggling. */
  private static final String[] EVIL = {
    "content-length: 3\r\n",
    "Content-Length: 3, 3\r\n",
    "content-length: +3\r\n",
    "transfer-encoding: chunked\r\n",
    "Transfer-Encoding: identity\r\n",
    "transfer-encoding:\tchunked\r\n",
    "transfer-encoding : chunked\r\n",
    " folded: x\r\n",
    "\tfolded\r\n",
    "host: other\r\n",
    "\r\n",
    "\n",
    "\r",
    "x\r\n",
    ": v\r\n",
    "x: \u0000\r\n",
    "0\r\n\r\n",
    "5;ext=\"a\r\nb\"\r\n",
    "FFFFFFFFF\r\n",
    "80000000\r\n",
    "-1\r\n",
    "0x5\r\n",
    "5 \r\n",
    "GET /smuggled HTTP/1.1\r\nhost: s\r\n\r\n",
    "HTTP/1.0",
    "HTTP/1.2",
    "x".repeat(600)
  };

  private static final char[] BYTES =
      "\r\n\t \u0000\u000b\u007f:;,0159afgHTTP/\u0080\u00a0\u00ff\"\\".toCharArray();

  private final Random random;

  RequestTexts(long seed) {
    random = new Random(seed);
  }

  /** One to three valid requests in sequence. */
  byte[] wellFormed() {
    StringBuilder all = new StringBuilder();
    int count = 1 + random.nextInt(3);
    for (int i = 0; i < count; i++) {
      request(all);
    }
    return all.toString().getBytes(ISO_8859_1);
  }

  private void request(StringBuilder out) {
    out.append(any(METHODS)).append(' ').append(any(TARGETS)).append(" HTTP/1.1\r\n");
    List<String> lines = new ArrayList<>(List.of("Host: h"));
    for (int i = random.nextInt(4); i > 0; i--) {
      lines.add(random.nextInt(lines.size() + 1), any(EXTRAS));
    }
    int framing = random.nextInt(3);
    String body = "b".repeat(random.nextInt(20)) + "\r\n\r\n" + "0".repeat(random.nextInt(3));
    if (framing == 1) {
      lines.add(random.nextInt(lines.size() + 1), "content-length: " + body.length());
    } else if (framing == 2) {
      lines.add(random.nextInt(lines.size() + 1), "Transfer-Encoding: Chunked");
    }
    lines.forEach(line -> out.append(line).append("\r\n"));
    out.append("\r\n");
    if (framing == 1) {
      out.append(body);
    } else if (framing == 2) {
      chunks(out, body);
    }
  }

  private void chunks(StringBuilder out, String body) {
    int at = 0;
    while (at < body.length()) {
      int size = 1 + random.nextInt(body.length() - at);
      String digits = Integer.toHexString(size);
      out.append(random.nextBoolean() ? digits : "00" + digits.toUpperCase(java.util.Locale.ROOT));
      out.append(random.nextInt(4) == 0 ? ";name=value;other=\"a ;=b\"" : "").append("\r\n");
      out.append(body, at, at + size).append("\r\n");
      at += size;
    }
    out.append("0\r\n").append(random.nextInt(4) == 0 ? "x-trailer: t\r\n" : "").append("\r\n");
  }

  /** A copy with one to three changes, which may make it invalid. */
  byte[] mutated(byte[] wellFormed) {
    StringBuilder text = new StringBuilder(new String(wellFormed, ISO_8859_1));
    for (int i = 1 + random.nextInt(3); i > 0; i--) {
      mutate(text);
    }
    return text.toString().getBytes(ISO_8859_1);
  }

  private void mutate(StringBuilder text) {
    int at = random.nextInt(text.length());
    switch (random.nextInt(6)) {
      case 0 -> text.setCharAt(at, BYTES[random.nextInt(BYTES.length)]);
      case 1 -> text.insert(at, BYTES[random.nextInt(BYTES.length)]);
      case 2 -> text.deleteCharAt(at).append(' ');
      case 3 -> text.insert(lineStart(text, at), any(EVIL));
      case 4 -> text.insert(at, any(EVIL));
      default -> {
        int from = lineStart(text, at);
        int to = Math.max(from, lineStart(text, random.nextInt(text.length())));
        text.insert(lineStart(text, random.nextInt(text.length())), text.substring(from, to));
      }
    }
  }

  private static int lineStart(StringBuilder text, int near) {
    return text.indexOf("\n", near) + 1;
  }

  private String any(String[] from) {
    return from[random.nextInt(from.length)];
  }

  /** Indexes that cut the bytes into single bytes. */
  static int[] everyByte(byte[] bytes) {
    int[] cuts = new int[bytes.length];
    Arrays.setAll(cuts, i -> i);
    return cuts;
  }
}
