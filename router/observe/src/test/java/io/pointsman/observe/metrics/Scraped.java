package io.pointsman.observe.metrics;

import io.prometheus.metrics.expositionformats.ExpositionFormats;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** A scrape as a map from series, as written, to values. */
final class Scraped {
  private final Map<String, Double> values = new HashMap<>();

  private Scraped() {}

  static Scraped of(PrometheusRegistry registry) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try {
      ExpositionFormats.init().getPrometheusTextFormatWriter().write(out, registry.scrape());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return of(out.toString(StandardCharsets.UTF_8));
  }

  static Scraped of(String text) {
    Scraped scraped = new Scraped();
    text.lines()
        .filter(line -> !line.startsWith("#"))
        .forEach(
            line -> {
              int space = line.lastIndexOf(' ');
              scraped.values.put(
                  line.substring(0, space), Double.parseDouble(line.substring(space + 1)));
            });
    return scraped;
  }

  /** The value of a series; NaN if it is missing. */
  double value(String series) {
    return values.getOrDefault(series, Double.NaN);
  }

  Set<String> series() {
    return values.keySet();
  }
}
