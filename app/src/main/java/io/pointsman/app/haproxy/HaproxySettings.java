package io.pointsman.app.haproxy;

import static java.util.Objects.requireNonNull;

import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A HAProxy that asks a router for each request.
 *
 * @param listen where clients come in; port 0: any free one
 * @param router base URL of the router, {@code http://host:port}
 * @param apiKey bearer token for what the command itself asks the router and tells it; empty for
 *     none. With one the router is taken for guarded: no request goes to a worker whose client the
 *     router has not let in.
 * @param engineKey bearer token for engines, added to requests that bring no authorization; empty
 *     for none. It goes to HAProxy by its environment, so that it stands in no file.
 * @param spoe where the router answers HAProxy's own protocol ({@code decide.spoe-address}); null:
 *     a Lua script asks over HTTP
 * @param firstToken whether a Lua filter notes when first tokens come, from which policies learn
 * @param executable HAProxy's program
 * @param timeout how long the router may take to answer before HAProxy balances by itself
 * @param ttl how long a place is held without a further word; renewed while its stream lives
 * @param slots servers that HAProxy has room for; 1 to 4096
 * @param maxConnections of clients, at once
 */
public record HaproxySettings(
    InetSocketAddress listen,
    URI router,
    String apiKey,
    String engineKey,
    @Nullable InetSocketAddress spoe,
    boolean firstToken,
    String executable,
    Duration timeout,
    Duration ttl,
    int slots,
    int maxConnections) {

  /** Renewals are looked after by the clock of a program that may be kept waiting. */
  private static final Duration SHORTEST_TTL = Duration.ofSeconds(1);

  public HaproxySettings {
    requireNonNull(listen, "listen");
    if (!"http".equals(router.getScheme()) || router.getHost() == null || router.getPort() <= 0) {
      throw new IllegalArgumentException("router: " + router + " (expected: http://host:port)");
    }
    check("apiKey", apiKey);
    check("engineKey", engineKey);
    if (!timeout.isPositive()) {
      throw new IllegalArgumentException("timeout: " + timeout + " (expected: > 0)");
    }
    if (ttl.compareTo(SHORTEST_TTL) < 0) {
      throw new IllegalArgumentException("ttl: " + ttl + " (expected: >= " + SHORTEST_TTL + ")");
    }
    if (slots < 1 || slots > 4096) {
      throw new IllegalArgumentException("slots: " + slots + " (expected: 1 to 4096)");
    }
    if (maxConnections < 1) {
      throw new IllegalArgumentException("maxConnections: " + maxConnections + " (expected: >= 1)");
    }
  }

  private static void check(String name, String key) {
    if (key.chars().anyMatch(c -> c <= ' ' || c > '~')) {
      throw new IllegalArgumentException(name + ": (expected: printable ASCII without spaces)");
    }
  }

  /** With what suits most. */
  public static HaproxySettings of(InetSocketAddress listen, URI router) {
    return new HaproxySettings(
        listen,
        router,
        "",
        "",
        null,
        true,
        "haproxy",
        Duration.ofSeconds(1),
        Duration.ofMinutes(1),
        64,
        4096);
  }

  /** Whether no request may go to a worker unless the router has let its client in. */
  boolean guarded() {
    return !apiKey.isEmpty();
  }

  /** Speaks to the router with a key; empty for none. */
  public HaproxySettings withApiKey(String key) {
    return with(draft -> draft.apiKey = key);
  }

  /** Adds a key for engines to requests that bring none; empty for none. */
  public HaproxySettings withEngineKey(String key) {
    return with(draft -> draft.engineKey = key);
  }

  /** Asks by HAProxy's own protocol instead of a Lua script. */
  public HaproxySettings withSpoe(@Nullable InetSocketAddress address) {
    return with(draft -> draft.spoe = address);
  }

  /** Leaves first tokens unnoticed. */
  public HaproxySettings withoutFirstToken() {
    return with(draft -> draft.firstToken = false);
  }

  /** Runs another program. */
  public HaproxySettings withExecutable(String file) {
    return with(draft -> draft.executable = file);
  }

  /** Leaves the router another time to answer. */
  public HaproxySettings withTimeout(Duration time) {
    return with(draft -> draft.timeout = time);
  }

  /** Holds places for another time. */
  public HaproxySettings withTtl(Duration time) {
    return with(draft -> draft.ttl = time);
  }

  private HaproxySettings with(Consumer<Draft> change) {
    Draft draft = new Draft(this);
    change.accept(draft);
    return new HaproxySettings(
        listen,
        router,
        draft.apiKey,
        draft.engineKey,
        draft.spoe,
        draft.firstToken,
        draft.executable,
        draft.timeout,
        draft.ttl,
        slots,
        maxConnections);
  }

  /** What can be changed of settings, while it is. */
  private static final class Draft {
    private String apiKey;
    private String engineKey;
    private @Nullable InetSocketAddress spoe;
    private boolean firstToken;
    private String executable;
    private Duration timeout;
    private Duration ttl;

    private Draft(HaproxySettings from) {
      apiKey = from.apiKey;
      engineKey = from.engineKey;
      spoe = from.spoe;
      firstToken = from.firstToken;
      executable = from.executable;
      timeout = from.timeout;
      ttl = from.ttl;
    }
  }

  /** Without the keys. */
  @Override
  public String toString() {
    return "HaproxySettings[listen=" + listen + ", router=" + router + ", spoe=" + spoe + "]";
  }
}
