package io.pointsman.control.peers;

import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import java.time.Duration;
import org.slf4j.Logger;

/** Logs unusable messages, at most once per 30 s. Confined to one thread. */
final class Complaints {
  private static final long PAUSE = Duration.ofSeconds(30).toNanos();

  private final Logger log;
  private final String what;
  private final Ticker ticker;
  private long loggedAt;
  private long unlogged;
  private long all;

  Complaints(Logger log, String what, Ticker ticker) {
    this.log = log;
    this.what = what;
    this.ticker = ticker;
    loggedAt = ticker.nanos() - PAUSE;
  }

  void add(String why) {
    all++;
    unlogged++;
    if (ticker.nanos() - loggedAt >= PAUSE) {
      log.warn(
          "unusable {}: {} in total, {} since the last log line; {}",
          what,
          all,
          unlogged,
          LogText.of(why));
      loggedAt = ticker.nanos();
      unlogged = 0;
    }
  }

  long all() {
    return all;
  }
}
