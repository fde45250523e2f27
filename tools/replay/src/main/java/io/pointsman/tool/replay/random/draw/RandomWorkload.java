package io.pointsman.tool.replay.random.draw;

import io.pointsman.tool.replay.run.SimulationSettings.Change;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** The requests of a drawn workload, at a rate that is chosen later. */
public final class RandomWorkload {
  private final Draw draw;
  private final List<Item> items;
  private final double[] patience;

  private RandomWorkload(Draw draw, List<Item> items, double[] patience) {
    this.draw = draw;
    this.items = items;
    this.patience = patience;
  }

  /**
   * Creates the first requests of a draw.
   *
   * @param requests their number, at least 1
   */
  public static RandomWorkload of(Draw draw, int requests) {
    SplittableRandom random = new SplittableRandom(~draw.seed());
    List<Item> items = new Builder(draw, random.split()).build(requests);
    return new RandomWorkload(draw, items, patience(draw, requests, random.split()));
  }

  private static double[] patience(Draw draw, int requests, SplittableRandom random) {
    double[] patience = new double[requests];
    for (int i = 0; i < requests; i++) {
      boolean leaves = random.nextDouble() < draw.trouble().leaving();
      double after = ArrivalProcess.exponential(random, draw.trouble().patienceMillis());
      boolean impatient = draw.disturbance() == Disturbance.LEAVING && leaves;
      patience[i] = impatient ? Math.max(1, after) : Double.POSITIVE_INFINITY;
    }
    return patience;
  }

  public Draw draw() {
    return draw;
  }

  private String name() {
    return "random:" + draw.seed();
  }

  /** The requests for measuring the capacity: all wait from the beginning, and no client leaves. */
  public Trace flood() {
    List<TraceRequest> requests = new ArrayList<>();
    for (Item item : items) {
      requests.add(
          new TraceRequest(0, -1, item.prompt().tokens(), item.output(), item.prompt().blocks()));
    }
    return new Trace(name(), PromptText.BLOCK, requests);
  }

  /**
   * The requests at a rate.
   *
   * @param rate mean requests per second, with responses that others wait for counted as immediate
   */
  public Trace at(double rate) {
    double millis = seconds(rate) * 1000 / items.getLast().at();
    IdentityHashMap<Item, Integer> indexes = new IdentityHashMap<>();
    List<TraceRequest> requests = new ArrayList<>();
    for (Item item : items) {
      int index = requests.size();
      Integer after = item.after() == null ? null : indexes.get(item.after());
      requests.add(
          new TraceRequest(
              (after == null ? item.at() : item.pause()) * millis,
              after == null ? -1 : after,
              item.prompt().tokens(),
              item.output(),
              item.prompt().blocks(),
              patience[index]));
      indexes.put(item, index);
    }
    return new Trace(name(), PromptText.BLOCK, requests);
  }

  /** Duration of the arrivals in seconds. */
  private double seconds(double rate) {
    return items.size() / rate;
  }

  /** Slow engines, with the factor of their step times. */
  public Map<Integer, Double> slow() {
    Draw.Trouble trouble = draw.trouble();
    return draw.disturbance() == Disturbance.SLOW
        ? Map.of(trouble.worker(), trouble.slowness())
        : Map.of();
  }

  /** Engines that fail and return. */
  public List<Change> changes(double rate) {
    Draw.Trouble trouble = draw.trouble();
    return draw.disturbance() == Disturbance.LOST
        ? List.of(
            new Change(trouble.lostAt() * seconds(rate), trouble.worker()),
            new Change(trouble.backAt() * seconds(rate), trouble.worker()))
        : List.of();
  }

  /** Builds the requests, one arrival after the other. */
  private static final class Builder {
    private final Draw draw;
    private final SplittableRandom random;
    private List<RequestSource> sources;

    Builder(Draw draw, SplittableRandom random) {
      this.draw = draw;
      this.random = random;
      sources = sources();
    }

    private List<RequestSource> sources() {
      List<RequestSource> made = new ArrayList<>();
      for (Draw.Part part : draw.parts()) {
        made.add(Sources.of(part.family(), draw.lengths(part), draw.closed(), random.split()));
      }
      return made;
    }

    List<Item> build(int requests) {
      List<Item> items = new ArrayList<>();
      boolean doubled = false;
      double at = 0;
      double clock = 0;
      while (items.size() < requests) {
        if (draw.disturbance() == Disturbance.DOUBLED && !doubled && items.size() * 2 > requests) {
          doubled = true;
          sources = sources();
        }
        RequestSource source = sources.get(random.nextInt(sources.size()));
        double gap = draw.arrivals().gap(clock, random) * source.size();
        clock += gap;
        at += doubled ? gap / 2 : gap;
        source.add(at, random, items::add);
      }
      items.sort(Comparator.comparingDouble(Item::at));
      return List.copyOf(items.subList(0, requests));
    }
  }
}
