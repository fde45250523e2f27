package io.pointsman.proxy.reply;

import io.pointsman.engine.env.Dice;
import io.pointsman.proxy.wire.RequestHead;
import java.util.List;

/**
 * Finds or makes the id that an answer carries as {@code x-request-id}. Made ids have the form that
 * vllm-router gives them: a prefix by path and 24 letters and digits.
 */
public final class RequestIds {
  private static final String LETTERS =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

  /** Letters and digits drawn at a time: 62^4 fits a roll. */
  private static final int GROUP = 4;

  private static final int GROUP_BOUND = 62 * 62 * 62 * 62;
  private static final int LENGTH = 24;

  /** Longest id taken over from a client. */
  private static final int LONGEST = 256;

  private final List<String> headers;
  private final Dice dice;

  public RequestIds(List<String> headers, Dice dice) {
    this.headers = headers;
    this.dice = dice;
  }

  /** The id of a request. */
  public String of(RequestHead head) {
    for (String name : headers) {
      String given = head.first(name);
      if (given != null && usable(given)) {
        return given;
      }
    }
    return make(head.uri());
  }

  private static boolean usable(String given) {
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

  /** A new id for a request to {@code uri}. */
  public String make(String uri) {
    StringBuilder id = new StringBuilder(9 + LENGTH).append(prefix(uri));
    for (int i = 0; i < LENGTH; i += GROUP) {
      int group = dice.roll(GROUP_BOUND);
      for (int k = 0; k < GROUP; k++) {
        id.append(LETTERS.charAt(group % LETTERS.length()));
        group /= LETTERS.length();
      }
    }
    return id.toString();
  }

  private static String prefix(String uri) {
    if (uri.contains("/chat/completions")) {
      return "chatcmpl-";
    }
    if (uri.contains("/completions")) {
      return "cmpl-";
    }
    return uri.contains("/generate") ? "gnt-" : "req-";
  }
}
