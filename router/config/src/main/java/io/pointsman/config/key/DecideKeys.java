package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.text;

import io.pointsman.config.settings.DecideSettings;
import io.pointsman.config.value.CheckedText;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import java.time.Duration;
import java.util.List;

/** Keys of the decision service for other proxies. */
public final class DecideKeys {
  private static final ExternalLeaseSettings LEASES = ExternalLeaseSettings.DEFAULTS;

  public static final Key<Boolean> ENABLED =
      Key.of(
          "decide.enabled",
          bool(),
          DecideSettings.DEFAULTS.enabled(),
          "Let other proxies ask for decisions with `/v1/decide`, `/v1/leases` and"
              + " `/internal/route`, on the admin listener.",
          "`false`: the router answers `/internal/route` with 501. After a reload that sets it,"
              + " open leases end at their time, because their proxies cannot report.");

  public static final Key<String> API_KEY =
      Key.of(
              "decide.api-key",
              text("<key>", "a key", true),
              "",
              "Bearer token of proxies that ask for decisions. It opens `/v1/decide`, `/v1/leases`,"
                  + " `/internal/route` and `GET /workers`, and nothing else. A query at"
                  + " `/internal/route` can have it in `x-pointsman-key`.",
              "Empty: no key is needed, unless `admin.api-key` is set.")
          .secret();

  public static final Key<String> API_KEY_FILE =
      Key.of(
          "decide.api-key-file",
          text("<file>", "a file", true),
          "",
          "File with the value of `decide.api-key`. It is read at the start and at each reload.",
          "Empty: no file.");

  public static final Key<Integer> MAX_LEASES =
      Key.of(
          "decide.max-leases",
          integer(1, ExternalLeaseSettings.MOST_LEASES),
          LEASES.maxLeases(),
          "Maximum number of open leases of other proxies. Above it, `/v1/decide` answers 503.",
          "A low value refuses proxies with many streams. Each open lease costs about 200 bytes. A"
              + " reload with a lower value ends no lease.");

  public static final Key<Double> MAX_SHARE =
      Key.of(
          "decide.max-share",
          decimal(0.001, 1),
          LEASES.maxShare(),
          "Maximum share of `decide.max-leases` for one kind of callers: proxies with"
              + " `decide.api-key` or SPOE, administrators, and callers without a key.",
          "`1`: callers of one kind can shut out the others.");

  public static final Key<Double> FAILURE_SHARE =
      Key.of(
          "decide.failure-share",
          decimal(0, 1),
          LEASES.failureShare(),
          "Share of leases of proxies with `decide.api-key` for which failures count against"
              + " workers, after the first 16. Failures that others report never count.",
          "`0`: no reported failure counts. `1`: a faulty proxy can open every circuit breaker.");

  public static final Key<Duration> TTL =
      Key.of(
          "decide.ttl",
          duration(Duration.ofMillis(1), Duration.ofHours(24)),
          LEASES.standardTtl(),
          "Default duration of a lease; the proxy can set another one and can renew the lease.",
          "With a low value, leases end while their requests still run. With a high value, leases"
              + " of failed proxies count for longer.");

  public static final Key<Duration> MAX_TTL =
      Key.of(
          "decide.max-ttl",
          duration(Duration.ofMillis(1), Duration.ofHours(24)),
          LEASES.maxTtl(),
          "Maximum duration of a lease without renewal. Longer values are reduced to this one, but"
              + " `/v1/decide` refuses a longer `ttl_ms` with 400.",
          "With a low value, proxies must renew leases often. With a high value, leases of failed"
              + " proxies count for longer.");

  public static final Key<Duration> MAX_LIFETIME =
      Key.of(
          "decide.max-lifetime",
          duration(Duration.ofMillis(1), Duration.ofDays(7)),
          LEASES.maxLifetime(),
          "Maximum total duration of a lease, including all renewals.",
          "With a low value, running streams stop counting. With a high value, a faulty proxy can"
              + " renew a lease for very long.");

  public static final Key<String> SPOE_ADDRESS =
      Key.of(
          "decide.spoe-address",
          new CheckedText("<host:port>", "host:port, or empty", DecideSettings::isAddress),
          DecideSettings.DEFAULTS.spoeAddress(),
          "Address where HAProxy asks for decisions by SPOE, over persistent connections."
              + " `pointsman haproxy` gets this address from the router.",
          "Anyone who reaches this address can take leases. Empty: `pointsman haproxy` does not"
              + " start.");

  private DecideKeys() {}

  static List<Key<?>> all() {
    return List.of(
        ENABLED,
        API_KEY,
        API_KEY_FILE,
        MAX_LEASES,
        MAX_SHARE,
        FAILURE_SHARE,
        TTL,
        MAX_TTL,
        MAX_LIFETIME,
        SPOE_ADDRESS);
  }
}
