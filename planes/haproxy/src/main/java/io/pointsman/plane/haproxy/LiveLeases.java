package io.pointsman.plane.haproxy;

import io.pointsman.engine.env.LogText;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Renews the leases of live streams. HAProxy counts streams in a table with the lease as key. The
 * count falls at the end of a stream, so no ended stream is renewed, even if its end was not
 * reported.
 */
final class LiveLeases {
  private static final Logger log = LoggerFactory.getLogger(LiveLeases.class);
  private static final String ALIVE = "show table leases data.conn_cur gt 0";
  private static final Pattern ENTRY =
      Pattern.compile("key=(\\w+-[\\w-]{1,61}) (?:[^\\n]* )?gpt0=(\\d)");
  private static final int AT_ONCE = 16;

  /** Renewals per lease duration: two further attempts before a lease expires. */
  private static final int RENEWALS_IN_A_TTL = 3;

  private static final Duration LONGEST_BEAT = Duration.ofSeconds(1);

  private final RuntimeApi haproxy;
  private final RouterCalls router;
  private final Duration ttl;
  private final Semaphore calls = new Semaphore(AT_ONCE);

  /** Longest lease duration in the responses to the last round, in ms; 0 without any response. */
  private final AtomicLong granted = new AtomicLong();

  /**
   * The value of the last round with responses. Owned by the thread that calls {@link #beat}, like
   * the next field.
   */
  private long durationMillis;

  private long waitedMillis;

  LiveLeases(RuntimeApi haproxy, RouterCalls router, Duration ttl) {
    this.haproxy = haproxy;
    this.router = router;
    this.ttl = ttl;
  }

  /** Interval between calls of {@link #beat}. */
  Duration beats() {
    Duration third = ttl.dividedBy(RENEWALS_IN_A_TTL);
    return third.compareTo(LONGEST_BEAT) < 0 ? third : LONGEST_BEAT;
  }

  /**
   * Starts a round when one is due: three per lease duration. The router may grant less than
   * requested; until its first response, each call starts a round.
   */
  void beat() {
    waitedMillis += beats().toMillis();
    long newest = granted.get();
    if (newest > 0) {
      durationMillis = newest;
    }
    if (waitedMillis >= Math.min(durationMillis, ttl.toMillis()) / RENEWALS_IN_A_TTL) {
      waitedMillis = 0;
      granted.set(0);
      renew();
    }
  }

  /**
   * Renews all live leases. Stops when the router does not respond; a long table then does not
   * delay the next round.
   */
  void renew() {
    AtomicBoolean silent = new AtomicBoolean();
    try {
      for (Live live : alive(haproxy.ask(ALIVE))) {
        calls.acquire();
        if (silent.get()) {
          calls.release();
          return;
        }
        Thread.ofVirtual().name("haproxy-renew").start(() -> renew(live, silent));
      }
    } catch (IOException e) {
      log.debug("leases not renewed: {}", LogText.of(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Lease duration in ms in the responses to the last round; 0 without any response. */
  long grantedMillis() {
    return granted.get();
  }

  /**
   * A lease with a live stream.
   *
   * @param answering true if the chosen worker has begun a good response
   */
  record Live(String lease, boolean answering) {}

  /** The leases in HAProxy's table output. */
  static List<Live> alive(String table) {
    List<Live> leases = new ArrayList<>();
    Matcher entry = ENTRY.matcher(table);
    while (entry.find()) {
      leases.add(new Live(entry.group(1), entry.group(2).equals("1")));
    }
    return leases;
  }

  /**
   * @param silent set if the router does not respond
   */
  private void renew(Live live, AtomicBoolean silent) {
    try {
      granted.accumulateAndGet(router.renew(live.lease(), ttl, live.answering()), Math::max);
    } catch (IOException e) {
      silent.set(true);
      log.debug("lease {} not renewed: {}", live.lease(), LogText.of(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      calls.release();
    }
  }
}
