package io.pointsman.app.demo;

import java.time.Duration;

/**
 * What the demo does.
 *
 * @param engines simulated engines, 1 to 64
 * @param policy name of the policy
 * @param port port of the router; 0 for any free one
 * @param rate requests per second on average, more than 0, at most 1,000
 * @param duration how long it goes on; zero until it is stopped
 * @param quiet whether only the URL and the summary are printed
 */
public record DemoSettings(
    int engines, String policy, int port, double rate, Duration duration, boolean quiet) {

  public DemoSettings {
    if (engines < 1 || engines > 64) {
      throw new IllegalArgumentException("--engines: " + engines + " (expected: 1 to 64)");
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
