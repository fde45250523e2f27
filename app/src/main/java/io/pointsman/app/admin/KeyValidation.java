package io.pointsman.app.admin;

import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.local.CallerCheck;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Lets clients in whose key a server confirms. Verdicts are kept for a while, a bounded number of
 * them, good and bad ones apart, so that invented keys push no valid one out. A key is bad only if
 * every server says so: while one of them cannot tell, it is asked again with the next request.
 * Requests with a key that is being asked for wait for that answer; the number of questions under
 * way is bounded.
 */
public final class KeyValidation implements CallerCheck {
  /** Good verdicts kept, and bad ones; beyond, the one not used for longest is forgotten. */
  static final int MOST_VERDICTS = 10_000;

  /** Keys asked for at once; requests with further unknown keys are refused for the moment. */
  static final int MOST_QUESTIONS = 256;

  /** Longer keys are refused unasked. */
  static final int LONGEST_KEY = 4096;

  private static final String SCHEME = "bearer ";

  /** Asks one server for one key. */
  @FunctionalInterface
  public interface Question {
    /** Whether the server confirms the key; null if it cannot tell now. */
    @Nullable Boolean confirmed(String url, String key);
  }

  private final AuthSettings settings;
  private final Question question;
  private final Ticker ticker;

  /** Guarded by themselves: until when each key is known to be valid, or not to be. */
  private final Map<String, Long> valid = new Verdicts();

  private final Map<String, Long> invalid = new Verdicts();

  /** The questions under way, by key; guarded by itself. */
  private final Map<String, CompletableFuture<Verdict>> asking = new HashMap<>();

  /** The least recently used first. */
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
        // A question that has ended since the caller looked has left its verdict.
        Verdict known = verdict(key);
        if (known != Verdict.UNKNOWN || asking.size() >= MOST_QUESTIONS) {
          return known;
        }
        asking.put(key, mine);
      }
    }
    return first == null ? askServers(key, mine) : first.join();
  }

  /** Asks, and tells those who wait for the same key. */
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
