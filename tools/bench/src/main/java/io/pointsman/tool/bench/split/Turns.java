package io.pointsman.tool.bench.split;

import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Measures several ways in turn, because changes on the machine then affect all of them. */
final class Turns {
  private Turns() {}

  /** A way to get a response. */
  @FunctionalInterface
  interface Way {
    /**
     * Sends a request and reads the complete response.
     *
     * @throws IOException if the response is incomplete or not a 200
     */
    Timed ask() throws IOException;
  }

  /** Responses of each way, by round. Each round begins with another way. */
  static <K extends Enum<K>> Map<K, List<Timed>> play(EnumMap<K, Way> ways, DelayOptions options)
      throws IOException {
    Map<K, List<Timed>> answers = new LinkedHashMap<>();
    List<Map.Entry<K, Way>> all = List.copyOf(ways.entrySet());
    for (int round = -options.warmup(); round < options.rounds(); round++) {
      for (int i = 0; i < all.size(); i++) {
        Map.Entry<K, Way> way = all.get(Math.floorMod(round + i, all.size()));
        Timed answer = way.getValue().ask();
        if (round >= 0) {
          answers.computeIfAbsent(way.getKey(), name -> new ArrayList<>()).add(answer);
        }
      }
    }
    return answers;
  }

  /**
   * Differences of the first bytes of {@code one} and {@code other} in milliseconds, by round;
   * positive if {@code one} is later.
   */
  static List<Double> later(List<Timed> one, List<Timed> other) {
    List<Double> differences = new ArrayList<>();
    for (int i = 0; i < one.size(); i++) {
      differences.add(one.get(i).firstMillis() - other.get(i).firstMillis());
    }
    return differences;
  }

  static List<Double> first(List<Timed> answers) {
    return answers.stream().map(Timed::firstMillis).toList();
  }
}
