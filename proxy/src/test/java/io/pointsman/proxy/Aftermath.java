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
 * What must hold after every fault that is played on a {@link ProxyRig}, beside what closing that
 * checks: the proxy serves, no connection to an engine is left, threads and descriptors are as they
 * were before. The rig must have {@link #POOLS}, or ones that are as impatient.
 */
final class Aftermath {
  /** Connections that nobody uses are closed soon, so that it can be seen that they are. */
  static final UpstreamSettings POOLS =
      UpstreamSettings.DEFAULTS.withPoolIdleTimeout(Duration.ofMillis(200));

  /** Normal requests before anything is counted: what comes with the first ones stays. */
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
   * Counts what there is before a fault.
   *
   * @param normal a request that is served, before the fault and after it
   */
  static Aftermath of(ProxyRig rig, String normal) throws IOException {
    return new Aftermath(rig, normal);
  }

  /** Has clients leave, and looks at what is left of the fault. */
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

  /** Has so many clients do it at once that a thing lost with each of them is found. */
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
