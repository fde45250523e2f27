package io.pointsman.tool.bench.picks;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Ways to pick a worker for a request. */
enum PickMethod {
  /** No pick: callers connect to a worker. The result is the limit of the test rig. */
  DIRECT("directly to a worker, no pick"),
  PROXY("the built-in proxy, request and response"),
  DECIDE("POST /v1/decide, without a lease"),
  LEASE("POST /v1/decide, then settle: two calls per pick"),
  ROUTE("POST /internal/route, without a lease"),
  /** Transfers requests without a pick by the router. */
  HAPROXY("HAProxy, leastconn, request and response, no pick"),
  HAPROXY_SPOE("HAProxy that asks by SPOE, request and response");

  private final String title;

  PickMethod(String title) {
    this.title = title;
  }

  /** Name in options and tables. */
  String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  String title() {
    return title;
  }

  boolean throughHaproxy() {
    return this == HAPROXY || this == HAPROXY_SPOE;
  }

  /**
   * The ways with these names.
   *
   * @throws IllegalArgumentException if a name is unknown
   */
  static List<PickMethod> named(List<String> labels) {
    return labels.stream()
        .map(
            label ->
                Arrays.stream(values())
                    .filter(way -> way.label().equals(label))
                    .findFirst()
                    .orElseThrow(
                        () ->
                            new IllegalArgumentException(
                                "--ways: "
                                    + label
                                    + " (expected: of "
                                    + String.join(
                                        ", ",
                                        Arrays.stream(values()).map(PickMethod::label).toList())
                                    + ")")))
        .toList();
  }
}
