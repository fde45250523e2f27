package io.pointsman.tool.demo;

import io.pointsman.tool.sim.kv.KvConnector;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the demo.
 *
 * @param engines number of simulated engines, 1 to 64
 * @param policy name of the policy
 * @param port port of the router; 0: any free port
 * @param rate mean requests per second, above 0, at most 1,000
 * @param duration run time; zero: until stopped
 * @param quiet true: print only the URL and the summary
 * @param split prefill and decode engines instead of {@code engines}; null: one kind of engine
 * @param plane the proxy that forwards requests
 */
public record DemoSettings(
    int engines,
    String policy,
    int port,
    double rate,
    Duration duration,
    boolean quiet,
    @Nullable Split split,
    DataPlane plane) {

  /**
   * Prefill and decode engines.
   *
   * @param prefills number of prefill engines, 1 to 64
   * @param decodes number of decode engines, 1 to 64
   * @param connector the KV hand-over
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
     * Parses the numbers of engines.
     *
     * @param shape for example {@code 2x4}, prefill first
     * @throws IllegalArgumentException if the shape is malformed
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

  /** The proxy that forwards requests. */
  public enum DataPlane {
    /** The router's own proxy. */
    PROXY,
    /** HAProxy, which queries the router by SPOE. */
    HAPROXY
  }

  /** Settings with the built-in proxy. */
  public DemoSettings(
      int engines,
      String policy,
      int port,
      double rate,
      Duration duration,
      boolean quiet,
      @Nullable Split split) {
    this(engines, policy, port, rate, duration, quiet, split, DataPlane.PROXY);
  }

  /** Settings with one kind of engine. */
  public DemoSettings(
      int engines, String policy, int port, double rate, Duration duration, boolean quiet) {
    this(engines, policy, port, rate, duration, quiet, null, DataPlane.PROXY);
  }

  public DemoSettings {
    if (engines < 1 || engines > 64) {
      throw new IllegalArgumentException("--engines: " + engines + " (expected: 1 to 64)");
    }
    if (split != null && plane != DataPlane.PROXY) {
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
