package io.pointsman.proxy.wire;

import io.pointsman.engine.env.RandomSource;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Random identity of a router's process. Requests to workers carry it in {@code x-pointsman-via},
 * before the ids of the routers that sent them earlier. A router that reads its own id has already
 * forwarded the request. Immutable.
 */
public final class RouterId {
  /** Header of requests: ids of the routers that the request has passed, the last one first. */
  public static final String VIA = "x-pointsman-via";

  /** Header of answers to requests of routers: the id of the router that answers. */
  public static final String ROUTER = "x-pointsman-router";

  /**
   * Header of answers to probes of routers: the number of routers from the one that answers to the
   * nearest engine.
   */
  public static final String ROUTERS = "x-pointsman-routers";

  /** Maximum number of routers that a request may have passed. */
  public static final int MOST_ROUTERS = 8;

  /** A router without an identity: it sends and recognises none. */
  public static final RouterId NONE = new RouterId("");

  private static final int DIGITS = 16;
  private static final Pattern SEPARATOR = Pattern.compile("[ \\t]*,[ \\t]*");

  private final String text;
  private final byte[] line;

  private RouterId(String text) {
    this.text = text;
    line = (text.isEmpty() ? "" : VIA + ": " + text + "\r\n").getBytes(StandardCharsets.US_ASCII);
  }

  /** A new identity. */
  public static RouterId random(RandomSource random) {
    StringBuilder digits = new StringBuilder(DIGITS);
    for (int i = 0; i < DIGITS; i++) {
      digits.append(Character.forDigit(random.roll(16), 16));
    }
    return new RouterId(digits.toString());
  }

  /** The id; empty for {@link #NONE}. */
  public String text() {
    return text;
  }

  /**
   * Value of {@link #VIA} for a request that this router sends on.
   *
   * @param before value in the received request; null or empty: none
   */
  public String via(@Nullable String before) {
    return before == null || before.isEmpty() ? text : text + ", " + before;
  }

  /** The header line of a request that passed no router before. */
  byte[] line() {
    return line;
  }

  /**
   * True if a request must not be sent on: it has passed this router, or too many.
   *
   * @param via value of {@link #VIA} in the received request
   */
  public boolean endsLoop(String via) {
    return SEPARATOR.split(via, -1).length > MOST_ROUTERS || passed(via, text);
  }

  /**
   * True if a request has passed a router.
   *
   * @param via value of {@link #VIA} in the received request
   * @param router id of the router; null: an engine, which no request has passed
   */
  public static boolean passed(String via, @Nullable String router) {
    if (router == null) {
      return false;
    }
    for (String each : SEPARATOR.split(via, -1)) {
      if (!each.isEmpty() && each.equals(router)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public String toString() {
    return text;
  }
}
