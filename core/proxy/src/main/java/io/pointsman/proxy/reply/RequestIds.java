package io.pointsman.proxy.reply;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.proxy.wire.RequestHead;
import java.util.Arrays;
import java.util.List;

/**
 * Source of the request id, which each answer carries as {@code x-request-id}. Generated ids have
 * vllm-router's form: a prefix by path and 24 letters and digits.
 */
public final class RequestIds {
  private static final byte[] LETTERS =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".getBytes(ISO_8859_1);

  /** Number of characters per random number: 62^4 fits its range. */
  private static final int GROUP = 4;

  private static final int GROUP_BOUND = 62 * 62 * 62 * 62;
  private static final int LENGTH = 24;

  private static final byte[] CHAT = "chatcmpl-".getBytes(ISO_8859_1);
  private static final byte[] COMPLETION = "cmpl-".getBytes(ISO_8859_1);
  private static final byte[] GENERATED = "gnt-".getBytes(ISO_8859_1);
  private static final byte[] OTHER = "req-".getBytes(ISO_8859_1);

  /** Maximum length in characters of a client's id. */
  private static final int LONGEST = 256;

  private final List<String> headers;
  private final RandomSource random;

  public RequestIds(List<String> headers, RandomSource random) {
    this.headers = headers;
    this.random = random;
  }

  /** The id of a request: the client's, else a generated one. */
  public String of(RequestHead head) {
    for (String name : headers) {
      String given = head.first(name);
      if (given != null && usable(given)) {
        return given;
      }
    }
    return make(head.uri());
  }

  /** True if a client's id is used: it has 1 to 256 printable ASCII characters. */
  public static boolean usable(String given) {
    if (given.isEmpty() || given.length() > LONGEST) {
      return false;
    }
    for (int i = 0; i < given.length(); i++) {
      if (given.charAt(i) < ' ' || given.charAt(i) > '~') {
        return false;
      }
    }
    return true;
  }

  /** A generated id for a request to {@code uri}. */
  public String make(String uri) {
    byte[] prefix = prefix(uri);
    byte[] id = Arrays.copyOf(prefix, prefix.length + LENGTH);
    for (int i = prefix.length; i < id.length; i += GROUP) {
      int group = random.roll(GROUP_BOUND);
      for (int k = 0; k < GROUP; k++) {
        id[i + k] = LETTERS[group % LETTERS.length];
        group /= LETTERS.length;
      }
    }
    return new String(id, ISO_8859_1);
  }

  /**
   * The id for an engine. Engines put the prefix of the route before it, and would double the same
   * prefix of a generated id.
   */
  public static String forEngine(String id) {
    if (id.startsWith("chatcmpl-")) {
      return id.substring(CHAT.length);
    }
    return id.startsWith("cmpl-") ? id.substring(COMPLETION.length) : id;
  }

  private static byte[] prefix(String uri) {
    if (uri.contains("/chat/completions")) {
      return CHAT;
    }
    if (uri.contains("/completions")) {
      return COMPLETION;
    }
    return uri.contains("/generate") ? GENERATED : OTHER;
  }
}
