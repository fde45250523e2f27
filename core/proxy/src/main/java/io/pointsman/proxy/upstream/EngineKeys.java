package io.pointsman.proxy.upstream;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Bearer tokens for workers.
 *
 * @param all token for workers of roles without their own; null for none
 * @param prefill token for prefill workers; null for {@code all}
 * @param decode token for decode workers; null for {@code all}
 * @param replace true to replace the client's authorization; false to send the token only if the
 *     client sends none
 * @param byUrl tokens of single workers by their URL. They replace the client's authorization in
 *     every case.
 */
@RecordBuilder
public record EngineKeys(
    @Nullable String all,
    @Nullable String prefill,
    @Nullable String decode,
    boolean replace,
    Map<String, String> byUrl)
    implements EngineKeysBuilder.With {
  public static final EngineKeys NONE = new EngineKeys(null, null, null);

  /** Label of a worker that gets no token, with the value {@link #WITHHELD}. */
  public static final String LABEL = "engine-key";

  public static final String WITHHELD = "withheld";

  public EngineKeys {
    check("apiKey", all);
    check("prefillApiKey", prefill);
    check("decodeApiKey", decode);
    byUrl = Map.copyOf(byUrl);
    byUrl.forEach((url, key) -> check("key of " + url, key));
  }

  /** Tokens by role. */
  public EngineKeys(
      @Nullable String all, @Nullable String prefill, @Nullable String decode, boolean replace) {
    this(all, prefill, decode, replace, Map.of());
  }

  /** Tokens that are sent only if the client sends no authorization. */
  public EngineKeys(@Nullable String all, @Nullable String prefill, @Nullable String decode) {
    this(all, prefill, decode, false);
  }

  /** One token for all workers; null for none. */
  public static EngineKeys of(@Nullable String key) {
    return new EngineKeys(key, null, null);
  }

  /** The token for workers of a role; null for none. */
  public @Nullable String of(Role role) {
    String own =
        switch (role) {
          case REGULAR -> null;
          case PREFILL -> prefill;
          case DECODE -> decode;
        };
    return own == null ? all : own;
  }

  /** The token for a worker; null for none, or if the worker has no right to it. */
  public @Nullable String of(WorkerSpec worker) {
    String own = byUrl.get(worker.url());
    if (own != null) {
      return own;
    }
    return withheld(worker) ? null : of(worker.role());
  }

  private static boolean withheld(WorkerSpec worker) {
    return WITHHELD.equals(worker.labels().get(LABEL));
  }

  /** True if the client's keys do not go to a worker, also if the worker gets no token. */
  public boolean dropsClients(WorkerSpec worker) {
    boolean hasToken = of(worker.role()) != null;
    return byUrl.containsKey(worker.url()) || (replace && hasToken);
  }

  /** Contains no token. */
  @Override
  public String toString() {
    return "EngineKeys";
  }

  private static void check(String name, @Nullable String key) {
    if (key != null && (key.isBlank() || key.chars().anyMatch(c -> c < ' ' || c > '~'))) {
      throw new IllegalArgumentException(name + ": (expected: printable ASCII)");
    }
    if (key != null && key.contains("${")) {
      throw new IllegalArgumentException(
          name + ": a reference to a variable (expected: the key; files can refer to variables)");
    }
  }
}
