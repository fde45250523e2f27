package io.pointsman.request.json;

import java.util.List;

/** The scanners that run on this machine. */
final class StringScanners {
  private StringScanners() {}

  static List<StringScanner> all() {
    StringScanner best = StringScanner.best();
    return best instanceof VectorScanner
        ? List.of(new WordScanner(), best)
        : List.of(new WordScanner());
  }
}
