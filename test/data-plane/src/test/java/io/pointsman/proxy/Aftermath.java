package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.Residue;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/**
 * Checks after each fault on a {@link ProxyRig}, beyond those of its close. The proxy serves, no
 * connection to an engine remains, and threads and descriptors are as before. The rig must use
 * {@link #POOLS}, or pools with an equally short timeout.
 */
final class Aftermath {
  /** Closes idle connections early, so the test can see that they close. */
  static final UpstreamSettings POOLS =
      UpstreamSettings.DEFAULTS.withPoolIdleTimeout(Duration.ofMillis(200));

  /**
   * Number of normal requests before the first count. The first requests create lasting threads and
   * descriptors.
   */
  private static final int WARMING_UP = 4;

  private final ProxyRig rig;
  private final String normal;
  private final Residue before;

  private Aftermath(ProxyRig rig, String normal) throws IOException {
    this.rig = rig;
    this.normal = normal;
    for (int i = 0; i < WARMING_UP; i++) {
      assertThat(rig.ask(normal).status()).as("a normal request").isEqualTo(200);
    }
    before = Residue.now();
  }

  /**
   * Counts threads and descriptors before a fault.
   *
   * @param normal a request that is served before and after the fault
   */
  static Aftermath of(ProxyRig rig, String normal) throws IOException {
    return new Aftermath(rig, normal);
  }

  /** Closes the clients and checks the state after the fault. */
  void verify(ScriptedEngine... engines) throws Exception {
    rig.leave();
    Await.until(
        () -> "nothing under way, running " + rig.server().running(),
        () -> rig.server().running() == 0 && rig.server().queued() == 0);
    assertThat(rig.ask(normal).status()).as("a normal request afterwards").isEqualTo(200);
    Await.until(
        () -> "connections to engines: " + connections(engines) + " (expected: 0)",
        () -> connections(engines) == 0);
    before.verify();
  }

  private static int connections(ScriptedEngine... engines) {
    return Stream.of(engines).mapToInt(ScriptedEngine::openConnections).sum();
  }

  /**
   * Runs {@code doing} on many clients at the same time. A leak per client then becomes visible.
   */
  static <T> List<T> byMany(Callable<T> doing) throws InterruptedException, ExecutionException {
    List<Future<T>> futures = new ArrayList<>();
    try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < Residue.FOUND; i++) {
        futures.add(executor.submit(doing));
      }
    }
    List<T> results = new ArrayList<>();
    for (Future<T> future : futures) {
      results.add(future.get());
    }
    return results;
  }
}
