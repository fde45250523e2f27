package io.pointsman.proxy.upstream;

import io.pointsman.engine.fleet.Role;
import org.jspecify.annotations.Nullable;

/**
 * Bearer tokens for workers.
 *
 * @param all for workers whose role has none of its own; null for none
 * @param prefill for prefill workers; null for {@code all}
 * @param decode for decode workers; null for {@code all}
 * @param replace whether they take the place of a client's authorization; else they are sent where
 *     a client sends none
 */
public record EngineKeys(
    @Nullable String all, @Nullable String prefill, @Nullable String decode, boolean replace) {
  public static final EngineKeys NONE = new EngineKeys(null, null, null);

  public EngineKeys {
    check("apiKey", all);
    check("prefillApiKey", prefill);
    check("decodeApiKey", decode);
  }

  /** Tokens that are sent where a client sends no authorization. */
  public EngineKeys(@Nullable String all, @Nullable String prefill, @Nullable String decode) {
    this(all, prefill, decode, false);
  }

  /** One token for all; null for none. */
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

  /** Without the tokens. */
  @Override
  public String toString() {
    return "EngineKeys";
  }

  private static void check(String name, @Nullable String key) {
    if (key != null && (key.isBlank() || key.chars().anyMatch(c -> c < ' ' || c > '~'))) {
      throw new IllegalArgumentException(name + ": (expected: printable ASCII)");
    }
  }
}
