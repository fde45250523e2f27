package io.pointsman.tool.bench.chaos;

import io.netty.channel.EventLoopGroup;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.FailureTable;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.failure.ScheduledFault;
import io.pointsman.tool.sim.live.EngineState;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/**
 * Main class of the child process that runs the engines. It reads one command per line from
 * standard input and ends at end of input.
 *
 * <p>{@code FAULT ENGINE MILLIS} starts a fault, {@code hostile} those of a {@link Hostile} run.
 * The other commands return a number: {@code in-flight} running requests, {@code struck} started
 * faults, {@code cut} requests that were cut, stalled or garbled here, {@code lost} engines lost to
 * each poison. The process ends if a fault cannot be made.
 */
public final class EngineHost {
  private static final int MOST_AT_ONCE = 4096;
  private static final int FLAPPING_MILLIS = 3000;
  private static final int REVIVAL_MILLIS = 2000;
  private static final int REVIVAL_LOOK_MILLIS = 100;

  private final List<SimEngine> engines = new ArrayList<>();
  private final List<EventLoopGroup> loops = new ArrayList<>();
  private final ScheduledExecutorService mender = Executors.newSingleThreadScheduledExecutor();
  private final AtomicLong cut = new AtomicLong();
  private int struck;

  private EngineHost(int count) {
    // The router is measured, not the engines: a token every 40 ms, prefill in no time. Each engine
    // has capacity for all requests, because it may be the last healthy one.
    SimConfig config =
        SimConfig.DEFAULT
            .withModels(Traffic.MODEL)
            .withLinearLatency(0, 40)
            .withMaxRunning(MOST_AT_ONCE);
    for (int i = 0; i < count; i++) {
      EventLoopGroup loop = SimEngine.newGroup(1);
      loops.add(loop);
      engines.add(SimEngine.start(config.withId("engine-" + i), loop));
    }
  }

  /**
   * Starts the engines and prints their URLs, separated by commas.
   *
   * @param arguments the number of engines
   */
  public static void main(String[] arguments) throws Exception {
    System.setProperty("logback.configurationFile", "bench-logback.xml");
    EngineHost host = new EngineHost(Integer.parseInt(arguments[0]));
    System.out.println(host.engines.stream().map(SimEngine::url).collect(Collectors.joining(",")));
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      host.obey(line.split(" ", -1));
    }
    Runtime.getRuntime().halt(0);
  }

  private void obey(String[] words) throws ExecutionException, InterruptedException {
    if (words[0].equals("cut")) {
      // Runs on the mender thread, because a fault that is being switched must be counted
      // completely.
      System.out.println(mender.submit(this::cutSoFar).get());
      return;
    }
    if (words[0].equals("struck")) {
      System.out.println(mender.submit(() -> struck).get());
      return;
    }
    if (words[0].equals("hostile")) {
      turnHostile();
      return;
    }
    if (words[0].equals("lost")) {
      System.out.println(lostToPoisons());
      return;
    }
    if (words[0].equals("in-flight")) {
      System.out.println(
          engines.stream().mapToInt(engine -> engine.state().requests().inFlight()).sum());
      return;
    }
    int engine = Integer.parseInt(words[1]);
    int millis = Integer.parseInt(words[2]);
    ChaosFault fault = ChaosFault.valueOf(words[0]);
    mender.execute(() -> orEnd(() -> strike(fault, engine, millis)));
  }

  /** Starts the faults of a {@link Hostile} run. */
  private void turnHostile() {
    engines.get(Hostile.HUNG).failures().add(ScheduledFault.always(new Fault.Hang(0)));
    engines
        .get(Hostile.FLAPPING)
        .failures()
        .always(new Fault.FlappingHealth(FLAPPING_MILLIS, FLAPPING_MILLIS));
    for (SimEngine engine : engines) {
      for (int i = 0; i < Hostile.POISONS; i++) {
        engine.failures().always(new Fault.Poison(Hostile.poison(i)));
      }
      Thread.ofVirtual().start(() -> orEnd(() -> revive(engine)));
    }
  }

  /** Restarts an engine whenever a request has ended it, after a time. */
  private void revive(SimEngine engine) {
    while (true) {
      if (engine.isDead()) {
        freeze(REVIVAL_MILLIS);
        reopen(engine::restart);
      }
      freeze(REVIVAL_LOOK_MILLIS);
    }
  }

  /** Engines lost to each poison, in order. */
  private String lostToPoisons() {
    int[] lost = new int[Hostile.POISONS];
    for (SimEngine engine : engines) {
      for (FailureTable.Active active : engine.failures().active()) {
        if (active.failure().fault() instanceof Fault.Poison(String text)) {
          String number = text.substring(text.indexOf('-') + 1, text.length() - 1);
          lost[Integer.parseInt(number)] += active.struck();
        }
      }
    }
    return Arrays.stream(lost).mapToObj(Integer::toString).collect(Collectors.joining(","));
  }

  /** Ends the process if the work fails: a run without its faults is no evidence. */
  private static void orEnd(Runnable work) {
    try {
      work.run();
    } catch (RuntimeException | Error e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // The mender lives as long as the process.
  private void strike(ChaosFault fault, int index, int millis) {
    SimEngine engine = engines.get(index);
    Runnable mend =
        switch (fault) {
          case KILL -> {
            EngineState.Requests before = engine.state().requests();
            engine.stop();
            cut.addAndGet(before.inFlight() + arrivedSince(before, engine));
            yield () -> reopen(engine::restart);
          }
          case REFUSE -> {
            engine.refuse();
            yield () -> reopen(engine::accept);
          }
          case FREEZE -> {
            EngineState.Requests before = engine.state().requests();
            loops.get(index).next().execute(() -> freeze(millis));
            cut.addAndGet(before.inFlight());
            // Restarting waits for the event loop to move again, so it runs on another thread.
            Thread.ofVirtual().start(() -> cut.addAndGet(arrivedSince(before, engine)));
            yield () -> {};
          }
          case HANG, ERROR, BUSY, RESET, CUT, GARBAGE, SLOW -> {
            engine.failures().add(Objects.requireNonNull(fault.failure(), "failure"));
            yield () -> cut.addAndGet(struckStreams(engine.failures().clear()));
          }
        };
    mender.schedule(() -> orEnd(mend), millis, TimeUnit.MILLISECONDS);
    struck++;
  }

  private static long arrivedSince(EngineState.Requests before, SimEngine engine) {
    return engine.state().requests().received() - before.received();
  }

  private long cutSoFar() {
    return cut.get()
        + engines.stream().mapToLong(SimEngine::lostToDeath).sum()
        + engines.stream().mapToLong(engine -> struckStreams(engine.failures().active())).sum();
  }

  /** Number of requests affected by failures that end a running stream. */
  private static long struckStreams(List<FailureTable.Active> failures) {
    return failures.stream()
        .filter(active -> active.failure().path().equals(Traffic.STREAM_PATH))
        .mapToLong(FailureTable.Active::struck)
        .sum();
  }

  private static void freeze(int millis) {
    try {
      TimeUnit.MILLISECONDS.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Opens an engine's listener again on its port. It retries every 50 ms, because a client
   * connection may occupy the port.
   */
  @SuppressWarnings("FutureReturnValueIgnored")
  private void reopen(Runnable open) {
    try {
      open.run();
    } catch (RuntimeException e) {
      mender.schedule(() -> reopen(open), 50, TimeUnit.MILLISECONDS);
    }
  }
}
