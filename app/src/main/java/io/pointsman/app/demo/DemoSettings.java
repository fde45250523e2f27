package io.pointsman.app.demo;

import io.pointsman.sim.kv.KvConnector;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What the demo does.
 *
 * @param engines simulated engines, 1 to 64
 * @param policy name of the policy
 * @param port port of the router; 0 for any free one
 * @param rate requests per second on average, more than 0, at most 1,000
 * @param duration how long it goes on; zero until it is stopped
 * @param quiet whether only the URL and the summary are printed
 * @param split engines of two roles in place of {@code engines}; null for engines of one kind
 * @param plane who carries the bytes
 */
public record DemoSettings(
    int engines,
    String policy,
    int port,
    double rate,
    Duration duration,
    boolean quiet,
    @Nullable Split split,
    Plane plane) {

  /**
   * Prefill and decode engines.
   *
   * @param prefills 1 to 64
   * @param decodes 1 to 64
   * @param connector how they hand KV over
   */
  public record Split(int prefills, int decodes, KvConnector connector) {
    private static final Pattern SHAPE = Pattern.compile("([0-9]{1,2})x([0-9]{1,2})");

    public Split {
      if (prefills < 1 || prefills > 64 || decodes < 1 || decodes > 64) {
        throw new IllegalArgumentException(
            "--pd: "
                + prefills
                + "x"
                + decodes
                + " (expected: two numbers from 1 to 64, for example 2x4)");
      }
    }

    /**
     * Reads how many there are of each role.
     *
     * @param shape such as {@code 2x4}, prefill first
     * @throws IllegalArgumentException if it is something else
     */
    public static Split of(String shape, String connector) {
      Matcher match = SHAPE.matcher(shape);
      if (!match.matches()) {
        throw new IllegalArgumentException(
            "--pd: " + shape + " (expected: two numbers, for example 2x4)");
      }
      try {
        return new Split(
            Integer.parseInt(match.group(1)),
            Integer.parseInt(match.group(2)),
            KvConnector.of(connector));
      } catch (IllegalArgumentException e) {
        String message = String.valueOf(e.getMessage());
        throw new IllegalArgumentException(message.startsWith("--") ? message : "--" + message, e);
      }
    }
  }

  /** Who carries the bytes. */
  public enum Plane {
    /** The router itself. */
    PROXY,
    /** HAProxy, which asks the router by its own protocol. */
    HAPROXY,
    /** HAProxy with a Lua script that asks over HTTP. */
    HAPROXY_LUA
  }

  /** With the built-in proxy. */
  public DemoSettings(
      int engines,
      String policy,
      int port,
      double rate,
      Duration duration,
      boolean quiet,
      @Nullable Split split) {
    this(engines, policy, port, rate, duration, quiet, split, Plane.PROXY);
  }

  /** Engines of one kind. */
  public DemoSettings(
      int engines, String policy, int port, double rate, Duration duration, boolean quiet) {
    this(engines, policy, port, rate, duration, quiet, null, Plane.PROXY);
  }

  public DemoSettings {
    if (engines < 1 || engines > 64) {
      throw new IllegalArgumentException("--engines: " + engines + " (expected: 1 to 64)");
    }
    if (split != null && plane != Plane.PROXY) {
      throw new IllegalArgumentException("--plane: haproxy (expected: proxy if --pd is given)");
    }
    if (!(rate > 0 && rate <= 1000)) {
      throw new IllegalArgumentException("--rate: " + rate + " (expected: above 0, at most 1000)");
    }
    if (duration.isNegative()) {
      throw new IllegalArgumentException(
          "--duration: " + duration.toSeconds() + " (expected: 0 or more)");
    }
    if (port < 0 || port > 65_535) {
      throw new IllegalArgumentException("--port: " + port + " (expected: 0 to 65535)");
    }
  }
}
