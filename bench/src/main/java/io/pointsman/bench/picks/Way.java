package io.pointsman.bench.picks;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** How a worker is picked for a request. */
enum Way {
  /** None is: straight at a worker, what the rig itself can do. */
  DIRECT("directly to a worker, no pick"),
  PROXY("the built-in proxy, request and response"),
  DECIDE("POST /v1/decide, without a lease"),
  LEASE("POST /v1/decide, then settle: two calls per pick"),
  ROUTE("POST /internal/route, without a lease"),
  /** Carries the bytes and asks nobody. */
  HAPROXY("HAProxy, leastconn, request and response, no pick"),
  HAPROXY_LUA("HAProxy that asks by Lua, request and response"),
  HAPROXY_SPOE("HAProxy that asks by SPOE, request and response");

  private final String title;

  Way(String title) {
    this.title = title;
  }

  /** What options and tables call it. */
  String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  String title() {
    return title;
  }

  boolean throughHaproxy() {
    return this == HAPROXY || this == HAPROXY_LUA || this == HAPROXY_SPOE;
  }

  /**
   * Those with these names.
   *
   * @throws IllegalArgumentException if one is unknown
   */
  static List<Way> named(List<String> labels) {
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
                                        ", ", Arrays.stream(values()).map(Way::label).toList())
                                    + ")")))
        .toList();
  }
}
