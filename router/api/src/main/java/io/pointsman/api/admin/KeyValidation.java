package io.pointsman.api.admin;

import io.pointsman.config.settings.AuthSettings;
import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.local.CallerCheck;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Admits clients with a key that a validation server confirms. Verdicts are cached for {@link
 * AuthSettings#ttl()}: at most {@link #MOST_VERDICTS} good ones and as many bad ones. The caches
 * are separate, because invented keys must not evict valid ones.
 *
 * <p>A key is refused only if every server rejects it. If a server gives no verdict, the next
 * request with this key queries the servers again. Requests with the same key share one query. At
 * most {@link #MOST_QUESTIONS} queries run at a time.
 */
public final class KeyValidation implements CallerCheck {
  /** Maximum number of good verdicts, and of bad ones; the least recently used is evicted. */
  static final int MOST_VERDICTS = 10_000;

  /**
   * Maximum number of keys in validation at a time. Further unknown keys get the verdict {@code
   * UNKNOWN}.
   */
  static final int MOST_QUESTIONS = 256;

  /**
   * Maximum length of the Authorization header, in characters. Longer ones are refused without a
   * query.
   */
  static final int LONGEST_KEY = 4096;

  private static final String SCHEME = "bearer ";

  /** A query to one server about one key. */
  @FunctionalInterface
  public interface Question {
    /** True if the server confirms the key; null if it gives no verdict. */
    @Nullable Boolean confirmed(String url, String key);
  }

  private final AuthSettings settings;
  private final Question question;
  private final Ticker ticker;

  /** Expiry of the verdict on each key, on the ticker's scale. Each map is its own lock. */
  private final Map<String, Long> valid = new Verdicts();

  private final Map<String, Long> invalid = new Verdicts();

  /** Validations in progress, by key; guarded by itself. */
  private final Map<String, CompletableFuture<Verdict>> asking = new HashMap<>();

  /** Verdicts in order of access, without the least recently used ones. */
  private static final class Verdicts extends LinkedHashMap<String, Long> {
    private static final long serialVersionUID = 1;

    Verdicts() {
      super(16, 0.75f, true);
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, Long> eldest) {
      return size() > MOST_VERDICTS;
    }
  }

  public KeyValidation(AuthSettings settings, Question question, Ticker ticker) {
    this.settings = settings;
    this.question = question;
    this.ticker = ticker;
  }

  @Override
  public Verdict known(@Nullable String authorization) {
    String key = key(authorization);
    return key == null ? Verdict.REFUSED : verdict(key);
  }

  private Verdict verdict(String key) {
    if (holds(valid, key)) {
      return Verdict.ADMITTED;
    }
    return holds(invalid, key) ? Verdict.REFUSED : Verdict.UNKNOWN;
  }

  private boolean holds(Map<String, Long> verdicts, String key) {
    synchronized (verdicts) {
      Long until = verdicts.get(key);
      return until != null && ticker.nanos() - until < 0;
    }
  }

  @Override
  public Verdict ask(String authorization) {
    String key = key(authorization);
    if (key == null) {
      return Verdict.REFUSED;
    }
    CompletableFuture<Verdict> mine = new CompletableFuture<>();
    CompletableFuture<Verdict> first;
    synchronized (asking) {
      first = asking.get(key);
      if (first == null) {
        // A validation that ended after the caller's check has left a verdict.
        Verdict known = verdict(key);
        if (known != Verdict.UNKNOWN || asking.size() >= MOST_QUESTIONS) {
          return known;
        }
        asking.put(key, mine);
      }
    }
    return first == null ? askServers(key, mine) : first.join();
  }

  /** Queries the servers and passes the verdict to the requests that wait for the same key. */
  private Verdict askServers(String key, CompletableFuture<Verdict> waiting) {
    Verdict verdict = Verdict.UNKNOWN;
    try {
      verdict = askServers(key);
      return verdict;
    } finally {
      synchronized (asking) {
        asking.remove(key);
      }
      waiting.complete(verdict);
    }
  }

  private Verdict askServers(String key) {
    boolean allTold = true;
    for (String url : settings.validationUrls()) {
      Boolean confirmed = question.confirmed(url, key);
      if (confirmed != null && confirmed) {
        keep(key, true);
        return Verdict.ADMITTED;
      }
      allTold &= confirmed != null;
    }
    if (allTold) {
      keep(key, false);
    }
    return allTold ? Verdict.REFUSED : Verdict.UNKNOWN;
  }

  private void keep(String key, boolean confirmed) {
    Map<String, Long> others = confirmed ? invalid : valid;
    synchronized (others) {
      others.remove(key);
    }
    Map<String, Long> same = confirmed ? valid : invalid;
    synchronized (same) {
      same.put(key, ticker.nanos() + settings.ttl().toNanos());
    }
  }

  /** The key in a bearer token; null if the header has no usable one. */
  public static @Nullable String key(@Nullable String authorization) {
    if (authorization == null || authorization.length() > LONGEST_KEY) {
      return null;
    }
    boolean bearer = authorization.toLowerCase(Locale.ROOT).startsWith(SCHEME);
    String key = bearer ? authorization.substring(SCHEME.length()).strip() : "";
    boolean printable = key.chars().allMatch(c -> c > ' ' && c <= '~');
    return key.isEmpty() || !printable ? null : key;
  }
}
