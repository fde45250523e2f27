package io.pointsman.tool.bench.chaos;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One load run during which the engines fail, about one fault per second. Engines run in one child
 * process and the router in another; the clients run in this process.
 */
public final class ChaosRun {
  private static final long QUIET_SECONDS = 60;
  private static final double MB = 1 << 20;
  private static final String DESCRIPTORS = "process_open_fds";

  /** Number of samples between two garbage collections of the router. */
  private static final int SAMPLES_PER_COLLECTION = 6;

  /**
   * Parameters of a run.
   *
   * @param router command that starts the router, up to and including {@code serve}
   * @param seconds duration of faults and requests in seconds
   * @param engines number of engines; at least 2
   * @param rate requests per second
   * @param seed seed of faults and requests
   * @param sampleMillis interval of the samples in milliseconds
   * @param patienceSeconds silence limit of the router in seconds; must be much longer than any
   *     pause of the machine
   * @param hostile true for faults of meaning instead of one fault per second: see {@link Hostile}
   */
  public record Setup(
      List<String> router,
      int seconds,
      int engines,
      int rate,
      long seed,
      int sampleMillis,
      int patienceSeconds,
      boolean hostile) {
    public Setup {
      router = List.copyOf(router);
    }

    /** A run with one fault per second. */
    public Setup(
        List<String> router,
        int seconds,
        int engines,
        int rate,
        long seed,
        int sampleMillis,
        int patienceSeconds) {
      this(router, seconds, engines, rate, seed, sampleMillis, patienceSeconds, false);
    }
  }

  private final Setup setup;
  private final List<Strikes.Strike> strikes;

  /** Clients' part of a hostile run; null for another run. */
  private final @Nullable Hostile hostile;

  private final ResultTally tally = new ResultTally();
  private final Afflictions afflictions = new Afflictions();
  private final List<Sample> samples = new ArrayList<>();
  private double heapMb;
  private double directMb;
  private final Availability availability = new Availability();

  private ChaosRun(Setup setup) {
    this.setup = setup;
    strikes =
        setup.hostile()
            ? Hostile.plan(setup.engines(), setup.seconds())
            : Strikes.plan(setup.seed(), setup.engines(), setup.seconds());
    hostile = setup.hostile() ? new Hostile(setup.seed()) : null;
  }

  /**
   * Runs until no request is in flight.
   *
   * @throws IOException if a process does not start, or ends early
   */
  public static ChaosReport run(Setup setup) throws IOException, InterruptedException {
    return new ChaosRun(setup).run();
  }

  private ChaosReport run() throws IOException, InterruptedException {
    Path logs = Files.createTempDirectory("pointsman-chaos");
    Path engineLog = logs.resolve("engines.log");
    List<String> host = Child.java(EngineHost.class, "" + setup.engines());
    try (Child engines = Child.talking(host, engineLog)) {
      List<String> urls = List.of(engines.line().split(",", -1));
      try (RouterUnderTest router =
          RouterUnderTest.start(
              setup.router(), urls, setup.patienceSeconds(), logs.resolve("router.log"))) {
        return run(engines, urls, router);
      }
    } finally {
      Files.deleteIfExists(engineLog);
      Files.deleteIfExists(logs.resolve("router.log"));
      Files.deleteIfExists(logs);
    }
  }

  private ChaosReport run(Child engines, List<String> urls, RouterUnderTest router)
      throws IOException, InterruptedException {
    Texts texts = Texts.of(urls.getFirst(), Traffic.CONVERSATIONS);
    double openedBefore = router.metrics().sum(DESCRIPTORS, "");
    if (hostile != null) {
      engines.send("hostile");
    }
    tally.begin();
    long start = System.nanoTime();
    long end = start + TimeUnit.SECONDS.toNanos(setup.seconds());
    Queue<Throwable> trouble = new ConcurrentLinkedQueue<>();
    try (Traffic traffic =
        new Traffic(router.url(), tally, afflictions, texts, setup.seed(), hostile)) {
      Thread striking = background("strikes", trouble, () -> strike(engines, urls, start));
      Thread watching = background("availability", trouble, () -> watch(router, start, end));
      Thread sampling = background("samples", trouble, () -> sample(router, start, end));
      traffic.run(setup.rate(), end);
      traffic.awaitEnd();
      striking.join();
      watching.join();
      sampling.join();
    }
    if (!trouble.isEmpty()) {
      throw new IOException("the run is not valid", trouble.peek());
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    int left = leftInFlight(engines, router);
    engines.send("struck");
    int struck = Integer.parseInt(engines.line());
    if (struck != strikes.size()) {
      throw new IOException(
          "the run is not valid: %d faults (expected: %d)".formatted(struck, strikes.size()));
    }
    Hostile.Losses losses = losses(engines);
    engines.send("cut");
    long cut = Long.parseLong(engines.line());
    int opened = leftOpen(router, openedBefore);
    ChaosReport.Witness witness = new ChaosReport.Witness(cut, availability, left, opened, losses);
    return new ChaosReport(
        setup, seconds, strikes, witness, tally, samples, router.metrics(), router.log());
  }

  private Hostile.@Nullable Losses losses(Child engines) throws IOException {
    if (hostile == null) {
      return null;
    }
    engines.send("lost");
    return hostile.losses(engines.line());
  }

  private interface Work {
    void run() throws IOException, InterruptedException;
  }

  private static Thread background(String name, Queue<Throwable> trouble, Work work) {
    return Thread.ofPlatform()
        .name(name)
        .daemon()
        .start(
            () -> {
              try {
                work.run();
              } catch (IOException | InterruptedException | RuntimeException e) {
                trouble.add(e);
              }
            });
  }

  private void strike(Child engines, List<String> urls, long start)
      throws IOException, InterruptedException {
    for (Strikes.Strike strike : strikes) {
      sleepUntil(start + TimeUnit.MILLISECONDS.toNanos(strike.atMillis()));
      if (strike.fault().endsStreams()) {
        String url = urls.get(strike.engine());
        String worker = url.substring(url.indexOf("//") + 2);
        afflictions.add(worker, System.nanoTime(), strike.lastsMillis());
      }
      engines.send(strike.fault() + " " + strike.engine() + " " + strike.lastsMillis());
    }
  }

  /** Polls the workers at a fixed interval. A late poll is not made up for. */
  private void watch(RouterUnderTest router, long start, long end)
      throws IOException, InterruptedException {
    long every = TimeUnit.MILLISECONDS.toNanos(Availability.EVERY_MILLIS);
    long next = start;
    while (next - end <= 0) {
      sleepUntil(next);
      int available = (int) router.metrics().sum("pointsman_workers", "state=\"available\"");
      long now = System.nanoTime();
      availability.saw(available, now);
      next = now - next > every ? now + every : next + every;
    }
  }

  private void sample(RouterUnderTest router, long start, long end)
      throws IOException, InterruptedException {
    long every = TimeUnit.MILLISECONDS.toNanos(setup.sampleMillis());
    for (long next = start + every; next - end <= 0; next += every) {
      sleepUntil(next);
      samples.add(look(router, (System.nanoTime() - start) / 1e9));
    }
  }

  private Sample look(RouterUnderTest router, double seconds)
      throws IOException, InterruptedException {
    if (samples.size() % SAMPLES_PER_COLLECTION == 0) {
      router.collectGarbage();
      heapMb = router.metrics().sum("jvm_memory_used_bytes", "area=\"heap\"") / MB;
      directMb = router.directBytes() / MB;
    }
    RouterUnderTest.Metrics metrics = router.metrics();
    double[] latency = tally.takeWholeMillis();
    return new Sample(
        seconds,
        metrics.sum("process_resident_memory_bytes", "") / MB,
        heapMb,
        directMb,
        metrics.sum(DESCRIPTORS, ""),
        metrics.sum("jvm_threads_current", ""),
        metrics.sum("pointsman_requests_in_flight", ""),
        latency[0],
        latency[1],
        ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
  }

  private static void sleepUntil(long nanos) throws InterruptedException {
    long left = nanos - System.nanoTime();
    if (left > 0) {
      TimeUnit.NANOSECONDS.sleep(left);
    }
  }

  /**
   * Waits until router and engines have no request in flight. Returns the number that remains after
   * the time limit.
   */
  private static int leftInFlight(Child engines, RouterUnderTest router)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(QUIET_SECONDS);
    while (true) {
      RouterUnderTest.Metrics metrics = router.metrics();
      engines.send("in-flight");
      double left =
          metrics.sum("pointsman_requests_in_flight", "")
              + metrics.sum("pointsman_worker_requests_in_flight", "")
              + metrics.sum("pointsman_queue_length", "")
              + Integer.parseInt(engines.line());
      if (left == 0 || System.nanoTime() - end > 0) {
        return (int) left;
      }
      TimeUnit.MILLISECONDS.sleep(100);
    }
  }

  /**
   * Waits until the router has no more descriptors than a passing run may leave, because its pools
   * close idle connections. Returns the surplus over the number before the run. A run can leave a
   * few, so a wait for none would mostly end at the time limit.
   */
  private static int leftOpen(RouterUnderTest router, double before)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(QUIET_SECONDS);
    while (true) {
      int more = (int) (router.metrics().sum(DESCRIPTORS, "") - before);
      if (more <= ChaosReport.OPEN_SLACK || System.nanoTime() - end > 0) {
        return Math.max(0, more);
      }
      TimeUnit.MILLISECONDS.sleep(100);
    }
  }
}
