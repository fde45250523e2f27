package io.pointsman.engine.policy.hash;

import java.util.ArrayList;
import java.util.List;

/**
 * Points on a ring of 128 unsigned bits, sorted, each with the number of its owner. Immutable. A
 * key belongs to the first point strictly greater than itself, or else to the lowest one.
 * Production-stack and Ray Serve use the same rule.
 */
final class PointRing {
  /** One point: its upper and lower 64 bits and its owner. */
  private record Point(long high, long low, int owner) {}

  private final long[] high;
  private final long[] low;
  private final int[] owners;

  private PointRing(List<Point> points) {
    points.sort((a, b) -> compare(a.high, a.low, b.high, b.low));
    high = points.stream().mapToLong(Point::high).toArray();
    low = points.stream().mapToLong(Point::low).toArray();
    owners = points.stream().mapToInt(Point::owner).toArray();
  }

  /** Collects points. */
  static final class Builder {
    private final List<Point> points = new ArrayList<>();

    void add(long high, long low, int owner) {
      points.add(new Point(high, low, owner));
    }

    PointRing build() {
      return new PointRing(points);
    }
  }

  int size() {
    return owners.length;
  }

  /** Returns the position of the first point after a key; 0 if there is none. */
  int behind(long keyHigh, long keyLow) {
    int from = 0;
    int to = owners.length;
    while (from < to) {
      int middle = (from + to) >>> 1;
      if (compare(high[middle], low[middle], keyHigh, keyLow) <= 0) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from == owners.length ? 0 : from;
  }

  /**
   * Returns the owner of the point {@code steps} positions after {@code place}; at most one round.
   */
  int owner(int place, int steps) {
    int at = place + steps;
    return owners[at < owners.length ? at : at - owners.length];
  }

  private static int compare(long high, long low, long otherHigh, long otherLow) {
    int first = Long.compareUnsigned(high, otherHigh);
    return first != 0 ? first : Long.compareUnsigned(low, otherLow);
  }
}
