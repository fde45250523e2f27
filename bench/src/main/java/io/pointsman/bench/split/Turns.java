package io.pointsman.bench.split;

import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Ways to get an answer, one after the other, so that whatever the machine does meets all. */
final class Turns {
  private Turns() {}

  /** One way. */
  @FunctionalInterface
  interface Way {
    /**
     * Asks, and reads to the end.
     *
     * @throws IOException if there is no whole answer with status 200
     */
    Timed ask() throws IOException;
  }

  /** The answers of each way, by round; each round begins with another one. */
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

  /** By how much the first byte of {@code one} came later than that of {@code other}, by round. */
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
