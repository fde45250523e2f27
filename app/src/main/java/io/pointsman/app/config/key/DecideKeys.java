package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bool;
import static io.pointsman.app.config.value.ValueTypes.duration;
import static io.pointsman.app.config.value.ValueTypes.integer;

import io.pointsman.app.config.value.CheckedText;
import io.pointsman.app.decide.DecideSettings;
import io.pointsman.engine.choice.HoldSettings;
import java.time.Duration;
import java.util.List;

/** Keys of the decision service for other proxies. */
public final class DecideKeys {
  private static final HoldSettings HOLD = HoldSettings.DEFAULTS;

  public static final Key<Boolean> ENABLED =
      Key.of(
          "decide.enabled",
          bool(),
          DecideSettings.DEFAULTS.enabled(),
          "Whether other planes may ask where to send requests: /v1/decide, /v1/leases and"
              + " /internal/route, on the port of the clients.",
          "true lets every client hold places, up to decide.max-leases; false leaves /v1/decide"
              + " and /v1/leases to the workers and answers /internal/route with 501.");

  public static final Key<Integer> MAX_LEASES =
      Key.of(
          "decide.max-leases",
          integer(1, HoldSettings.MOST_LEASES),
          HOLD.maxLeases(),
          "Most leases held for other planes at once; above it /v1/decide answers 503.",
          "Small refuses planes with many streams; each costs about 200 bytes while it is held.");

  public static final Key<Duration> TTL =
      Key.of(
          "decide.ttl",
          duration(Duration.ofMillis(1), Duration.ofHours(24)),
          HOLD.standardTtl(),
          "How long a lease is held without a further word, if its plane does not say.",
          "Short gives places back while their requests still run; long counts those of dead planes"
              + " for as long.");

  public static final Key<Duration> MAX_TTL =
      Key.of(
          "decide.max-ttl",
          duration(Duration.ofMillis(1), Duration.ofHours(24)),
          HOLD.maxTtl(),
          "The longest that a lease is held at a time; what planes ask for beyond it is cut to it,"
              + " but for the ttl_ms of /v1/decide, of which more is answered with 400.",
          "Short makes planes renew often; long lets a dead one hold places for as long.");

  public static final Key<Duration> MAX_LIFETIME =
      Key.of(
          "decide.max-lifetime",
          duration(Duration.ofMillis(1), Duration.ofDays(7)),
          HOLD.maxLifetime(),
          "How long a lease is held in all, however often it is renewed.",
          "Short stops counting streams that still run; long trusts planes that renew for ever.");

  public static final Key<String> SPOE_ADDRESS =
      Key.of(
          "decide.spoe-address",
          new CheckedText("<host:port>", "host:port; or nothing", DecideSettings::isAddress),
          DecideSettings.DEFAULTS.spoeAddress(),
          "Where HAProxy may ask by its own protocol (SPOE), over connections that it keeps;"
              + " pointsman haproxy asks the router for this address.",
          "Whoever reaches it can hold places; empty listens nowhere, and HAProxy asks over HTTP.");

  private DecideKeys() {}

  static List<Key<?>> all() {
    return List.of(ENABLED, MAX_LEASES, TTL, MAX_TTL, MAX_LIFETIME, SPOE_ADDRESS);
  }
}
