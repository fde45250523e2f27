package io.pointsman.app.haproxy;

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
 * Renews the leases whose streams live. HAProxy itself counts them, in a table with a lease as its
 * key: the count falls when the stream ends, so that nothing is renewed whose end was not heard of.
 */
final class LiveLeases {
  private static final Logger log = LoggerFactory.getLogger(LiveLeases.class);
  private static final String ALIVE = "show table leases data.conn_cur gt 0";
  private static final Pattern ENTRY =
      Pattern.compile("key=(\\w+-[\\w-]{1,61}) (?:[^\\n]* )?gpt0=(\\d)");
  private static final int AT_ONCE = 16;

  /** Two more tries before a lease ends. */
  private static final int RENEWALS_IN_A_TTL = 3;

  private static final Duration LONGEST_BEAT = Duration.ofSeconds(1);

  private final RuntimeApi haproxy;
  private final RouterCalls router;
  private final Duration ttl;
  private final Semaphore calls = new Semaphore(AT_ONCE);

  /** The longest time that the answers to the last round tell, in ms; 0 if none does so far. */
  private final AtomicLong heard = new AtomicLong();

  /** As above, of the last round with answers. Of the thread that beats, as is what follows. */
  private long heldMillis;

  private long waitedMillis;

  LiveLeases(RuntimeApi haproxy, RouterCalls router, Duration ttl) {
    this.haproxy = haproxy;
    this.router = router;
    this.ttl = ttl;
  }

  /** The time between two calls of {@link #beat}. */
  Duration beats() {
    Duration third = ttl.dividedBy(RENEWALS_IN_A_TTL);
    return third.compareTo(LONGEST_BEAT) < 0 ? third : LONGEST_BEAT;
  }

  /**
   * Begins a round where it is time: three in the time for which the router holds leases, which may
   * be less than was asked for. Until the router has told that, at each beat.
   */
  void beat() {
    waitedMillis += beats().toMillis();
    long told = heard.get();
    if (told > 0) {
      heldMillis = told;
    }
    if (waitedMillis >= Math.min(heldMillis, ttl.toMillis()) / RENEWALS_IN_A_TTL) {
      waitedMillis = 0;
      heard.set(0);
      renew();
    }
  }

  /**
   * One round over all of them; gives up for this time once the router does not answer, so that a
   * long table does not keep it from the next one.
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
      log.debug("leases not renewed: {}", e.toString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** For how long the router holds leases, by the last round's answers so far; 0 without any. */
  long heardMillis() {
    return heard.get();
  }

  /**
   * One whose stream lives.
   *
   * @param answering whether the worker that was decided on has begun a good answer
   */
  record Live(String lease, boolean answering) {}

  /** The leases in what HAProxy says of its table. */
  static List<Live> alive(String table) {
    List<Live> leases = new ArrayList<>();
    Matcher entry = ENTRY.matcher(table);
    while (entry.find()) {
      leases.add(new Live(entry.group(1), entry.group(2).equals("1")));
    }
    return leases;
  }

  /**
   * @param silent set if the router does not answer
   */
  private void renew(Live live, AtomicBoolean silent) {
    try {
      heard.accumulateAndGet(router.renew(live.lease(), ttl, live.answering()), Math::max);
    } catch (IOException e) {
      silent.set(true);
      log.debug("lease {} not renewed: {}", live.lease(), e.toString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      calls.release();
    }
  }
}
