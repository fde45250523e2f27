package io.pointsman.app.admin;

import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.local.CallerCheck;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Lets clients in whose key a server confirms. Verdicts are kept for a while, a bounded number of
 * them; a server that cannot be reached is no verdict and is asked again with the next request.
 */
public final class KeyValidation implements CallerCheck {
  /** Verdicts kept at once; beyond, the one not used for longest is forgotten. */
  static final int MOST_VERDICTS = 10_000;

  /** Longer keys are refused unasked. */
  static final int LONGEST_KEY = 4096;

  private static final String SCHEME = "bearer ";

  /** Asks one server for one key. */
  @FunctionalInterface
  public interface Question {
    /** Whether the server confirms the key; null if it cannot be asked. */
    @Nullable Boolean confirmed(String url, String key);
  }

  private record Verdict(boolean valid, long until) {}

  private final AuthSettings settings;
  private final Question question;
  private final Ticker ticker;

  /** Guarded by itself; the least recently used first. */
  private final Map<String, Verdict> verdicts =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Verdict> eldest) {
          return size() > MOST_VERDICTS;
        }
      };

  public KeyValidation(AuthSettings settings, Question question, Ticker ticker) {
    this.settings = settings;
    this.question = question;
    this.ticker = ticker;
  }

  @Override
  public CallerCheck.Verdict known(@Nullable String authorization) {
    String key = key(authorization);
    if (key == null) {
      return CallerCheck.Verdict.REFUSED;
    }
    synchronized (verdicts) {
      Verdict verdict = verdicts.get(key);
      if (verdict == null || ticker.nanos() - verdict.until >= 0) {
        return CallerCheck.Verdict.UNKNOWN;
      }
      return verdict.valid ? CallerCheck.Verdict.ADMITTED : CallerCheck.Verdict.REFUSED;
    }
  }

  @Override
  public boolean ask(String authorization) {
    String key = key(authorization);
    if (key == null) {
      return false;
    }
    boolean answered = false;
    boolean valid = false;
    for (String url : settings.validationUrls()) {
      Boolean confirmed = valid ? Boolean.TRUE : question.confirmed(url, key);
      answered |= confirmed != null;
      valid |= confirmed != null && confirmed;
    }
    if (answered) {
      keep(key, valid);
    }
    return valid;
  }

  private void keep(String key, boolean valid) {
    long until = ticker.nanos() + settings.ttl().toNanos();
    synchronized (verdicts) {
      verdicts.put(key, new Verdict(valid, until));
    }
  }

  /** The key of a bearer token; null if there is none that can be one. */
  private static @Nullable String key(@Nullable String authorization) {
    if (authorization == null || authorization.length() > LONGEST_KEY) {
      return null;
    }
    boolean bearer = authorization.toLowerCase(Locale.ROOT).startsWith(SCHEME);
    String key = bearer ? authorization.substring(SCHEME.length()).strip() : "";
    boolean printable = key.chars().allMatch(c -> c > ' ' && c <= '~');
    return key.isEmpty() || !printable ? null : key;
  }
}
