package io.pointsman.api.admin;

import io.pointsman.config.settings.AuthSettings;
import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.local.CallerCheck;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Admits clients with a key that a validation server confirms. Verdicts are cached for {@link
 * AuthSettings#ttl()}: at most {@link #MOST_VERDICTS} good ones and as many bad ones, each of both
 * within {@link #MOST_BYTES}. The caches are separate, because invented keys must not evict valid
 * ones.
 *
 * <p>A key is refused only if every server rejects it. If a server gives no verdict, the next
 * request with this key queries the servers again. Requests with the same key share one query. At
 * most {@link #MOST_QUESTIONS} queries run at a time.
 */
public final class KeyValidation implements CallerCheck {
  /** Maximum number of good verdicts, and of bad ones; the least recently used is evicted. */
  static final int MOST_VERDICTS = 10_000;

  /** Maximum memory of the good verdicts, and of the bad ones, estimated in bytes: 8 MiB. */
  static final int MOST_BYTES = 8 << 20;

  /** Memory of a verdict, and of a name of a model, beyond the characters. */
  private static final int ENTRY_BYTES = 200;

  private static final int MODEL_BYTES = 80;

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
    /** The answer of the server about the key; null if it gives no verdict. */
    @Nullable Answer ask(String url, String key);
  }

  /**
   * The answer of a server about a key.
   *
   * @param finding the server's finding about the key
   * @param client the client that the server names; null if it names none
   */
  public record Answer(Finding finding, @Nullable ClientIdentity client) {
    /** A server's finding about a key. */
    public enum Finding {
      CONFIRMED,
      /** The server does not know the key; another one may. */
      REFUSED,
      /**
       * The server confirms the key, but its description of the client is invalid. Another server
       * could confirm the key without the limits of this one.
       */
      INVALID
    }

    public static final Answer CONFIRMED = confirmed(null);
    public static final Answer REFUSED = new Answer(Finding.REFUSED, null);
    public static final Answer INVALID = new Answer(Finding.INVALID, null);

    /** The key is valid. */
    public static Answer confirmed(@Nullable ClientIdentity client) {
      return new Answer(Finding.CONFIRMED, client);
    }

    private boolean good() {
      return finding == Finding.CONFIRMED;
    }

    private Admittance admission() {
      return new Admittance(good() ? Verdict.ADMITTED : Verdict.REFUSED, client);
    }
  }

  private final AuthSettings settings;
  private final Question question;
  private final Ticker ticker;

  /** The verdict on each key. Each map is its own lock. */
  private final Verdicts valid = new Verdicts();

  private final Verdicts invalid = new Verdicts();

  /**
   * A verdict in the cache.
   *
   * @param until its expiry, on the ticker's scale
   */
  private record Kept(long until, Admittance admission) {}

  /** Validations in progress, by key; guarded by itself. */
  private final Map<String, CompletableFuture<Admittance>> asking = new HashMap<>();

  /** Verdicts in order of access, without the least recently used ones. */
  private static final class Verdicts {
    private final LinkedHashMap<String, Kept> byKey = new LinkedHashMap<>(16, 0.75f, true);
    private int bytes;

    @Nullable Kept get(String key) {
      return byKey.get(key);
    }

    void remove(String key) {
      Kept removed = byKey.remove(key);
      bytes -= removed == null ? 0 : bytes(key, removed);
    }

    void put(String key, Kept verdict) {
      remove(key);
      byKey.put(key, verdict);
      bytes += bytes(key, verdict);
      while (byKey.size() > MOST_VERDICTS || bytes > MOST_BYTES) {
        remove(byKey.keySet().iterator().next());
      }
    }

    private static int bytes(String key, Kept verdict) {
      ClientIdentity client = verdict.admission.client();
      int models =
          client == null
              ? 0
              : client.models().stream().mapToInt(each -> each.length() + MODEL_BYTES).sum();
      return key.length() + models + ENTRY_BYTES;
    }
  }

  public KeyValidation(AuthSettings settings, Question question, Ticker ticker) {
    this.settings = settings;
    this.question = question;
    this.ticker = ticker;
  }

  @Override
  public Verdict known(@Nullable String authorization) {
    return admission(authorization).verdict();
  }

  @Override
  public Verdict ask(String authorization) {
    return askAdmission(authorization).verdict();
  }

  @Override
  public boolean confirms() {
    return true;
  }

  @Override
  public Admittance admission(@Nullable String authorization) {
    String key = key(authorization);
    return key == null ? Admittance.of(Verdict.REFUSED) : kept(key);
  }

  private Admittance kept(String key) {
    Admittance good = kept(valid, key);
    Admittance found = good == null ? kept(invalid, key) : good;
    return found == null ? Admittance.of(Verdict.UNKNOWN) : found;
  }

  private @Nullable Admittance kept(Verdicts verdicts, String key) {
    synchronized (verdicts) {
      Kept found = verdicts.get(key);
      return found != null && ticker.nanos() - found.until < 0 ? found.admission : null;
    }
  }

  @Override
  public Admittance askAdmission(String authorization) {
    String key = key(authorization);
    if (key == null) {
      return Admittance.of(Verdict.REFUSED);
    }
    CompletableFuture<Admittance> mine = new CompletableFuture<>();
    CompletableFuture<Admittance> first;
    synchronized (asking) {
      first = asking.get(key);
      if (first == null) {
        // A validation that ended after the caller's check has left a verdict.
        Admittance known = kept(key);
        if (known.verdict() != Verdict.UNKNOWN || asking.size() >= MOST_QUESTIONS) {
          return known;
        }
        asking.put(key, mine);
      }
    }
    return first == null ? askServers(key, mine) : first.join();
  }

  /** Queries the servers and passes the verdict to the requests that wait for the same key. */
  private Admittance askServers(String key, CompletableFuture<Admittance> waiting) {
    Admittance admission = Admittance.of(Verdict.UNKNOWN);
    try {
      admission = askServers(key);
      return admission;
    } finally {
      synchronized (asking) {
        asking.remove(key);
      }
      waiting.complete(admission);
    }
  }

  private Admittance askServers(String key) {
    boolean allAnswered = true;
    for (String url : settings.validationUrls()) {
      Answer answer = question.ask(url, key);
      if (answer != null && answer.finding != Answer.Finding.REFUSED) {
        return keep(key, answer);
      }
      allAnswered &= answer != null;
    }
    return allAnswered ? keep(key, Answer.REFUSED) : Admittance.of(Verdict.UNKNOWN);
  }

  private Admittance keep(String key, Answer answer) {
    Verdicts others = answer.good() ? invalid : valid;
    synchronized (others) {
      others.remove(key);
    }
    Admittance admission = answer.admission();
    Verdicts same = answer.good() ? valid : invalid;
    synchronized (same) {
      same.put(key, new Kept(ticker.nanos() + settings.ttl().toNanos(), admission));
    }
    return admission;
  }

  /** The key in a bearer token; null if the header has no usable one. */
  public static @Nullable String key(@Nullable String authorization) {
    if (authorization == null || authorization.length() > LONGEST_KEY) {
      return null;
    }
    boolean bearer = authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length());
    String key = bearer ? authorization.substring(SCHEME.length()).strip() : "";
    return key.isEmpty() || !printable(key) ? null : key;
  }

  private static boolean printable(String key) {
    for (int i = 0; i < key.length(); i++) {
      if (key.charAt(i) <= ' ' || key.charAt(i) > '~') {
        return false;
      }
    }
    return true;
  }
}
