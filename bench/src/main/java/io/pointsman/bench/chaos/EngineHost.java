package io.pointsman.bench.chaos;

import io.netty.channel.EventLoopGroup;
import io.pointsman.sim.SimConfig;
import io.pointsman.sim.SimEngine;
import io.pointsman.sim.failure.FailureTable;
import io.pointsman.sim.live.EngineState;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/**
 * The process in which the engines run. Reads commands from its standard input, a line each, and
 * ends with it: {@code FAULT ENGINE MILLIS}; {@code in-flight}, {@code struck} or {@code cut},
 * which are answered with a number: requests under way, faults that have set in, and requests that
 * so far were cut, stalled or garbled here. A fault that could not be made ends the process.
 */
public final class EngineHost {
  private static final int MOST_AT_ONCE = 4096;

  private final List<SimEngine> engines = new ArrayList<>();
  private final List<EventLoopGroup> loops = new ArrayList<>();
  private final ScheduledExecutorService mender = Executors.newSingleThreadScheduledExecutor();
  private final AtomicLong cut = new AtomicLong();
  private int struck;

  private EngineHost(int count) {
    // A token every 40 ms, a prompt in no time, and room for everything on one engine, which may be
    // the last sound one: what is measured is the router.
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

  /** Starts as many engines as the argument says and prints their URLs, separated by commas. */
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
      // Where nothing else strikes or mends: what is switched on now is not counted yet.
      System.out.println(mender.submit(this::cutSoFar).get());
      return;
    }
    if (words[0].equals("struck")) {
      System.out.println(mender.submit(() -> struck).get());
      return;
    }
    if (words[0].equals("in-flight")) {
      System.out.println(
          engines.stream().mapToInt(engine -> engine.state().requests().inFlight()).sum());
      return;
    }
    int engine = Integer.parseInt(words[1]);
    int millis = Integer.parseInt(words[2]);
    EngineFault fault = EngineFault.valueOf(words[0]);
    mender.execute(() -> orEnd(() -> strike(fault, engine, millis)));
  }

  /** Without its faults a run shows nothing, so the process that fails to make one ends. */
  private static void orEnd(Runnable work) {
    try {
      work.run();
    } catch (RuntimeException | Error e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the mender lives as long as the process
  private void strike(EngineFault fault, int index, int millis) {
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
            // Answered when it moves again, so not waited for here.
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
        + engines.stream().mapToLong(engine -> struckStreams(engine.failures().active())).sum();
  }

  /** Requests met by failures that end a stream which has begun. */
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

  /** Opens a listener on its port again, which a client's connection may have taken meanwhile. */
  @SuppressWarnings("FutureReturnValueIgnored")
  private void reopen(Runnable open) {
    try {
      open.run();
    } catch (RuntimeException e) {
      mender.schedule(() -> reopen(open), 50, TimeUnit.MILLISECONDS);
    }
  }
}
