package io.pointsman.observe.logging;

import io.pointsman.engine.RejectReason;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.reply.ProxyError;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs requests that no worker can serve, because of a mistake in a client, in the configuration or
 * in the fleet, and requests for closed paths: at most one line a second for each reason. Refusals
 * because of load are metrics only, and refused keys are audit lines. Any thread.
 */
public final class RefusalJournal {
  private static final Logger LOG = LoggerFactory.getLogger(RefusalJournal.class);

  private final Supplier<Set<String>> models;
  private final Ticker ticker;
  private final Consumer<String> lines;

  /** The limit of each error; at most one entry per constant. */
  private final Map<ProxyError, LineRate> rates = new ConcurrentHashMap<>();

  /**
   * @param models the names of all served models
   */
  public RefusalJournal(Supplier<Set<String>> models, Ticker ticker) {
    this(models, ticker, LOG::warn);
  }

  RefusalJournal(Supplier<Set<String>> models, Ticker ticker, Consumer<String> lines) {
    this.models = models;
    this.ticker = ticker;
    this.lines = lines;
  }

  /** Logs the final rejection of a request, on any plane. */
  public void rejected(RoutingRequest request, RejectReason reason) {
    switch (reason) {
      case UNKNOWN_MODEL ->
          write(
              ProxyError.UNKNOWN_MODEL,
              request.id(),
              () ->
                  "model "
                      + name(request)
                      + " is not served (served: "
                      + shown(models.get())
                      + ")");
      case NO_WORKERS -> write(ProxyError.NO_WORKERS, request.id(), ProxyError.NO_WORKERS::message);
      case MODELS_PENDING ->
          write(ProxyError.MODELS_PENDING, request.id(), ProxyError.MODELS_PENDING::message);
      case NONE_AVAILABLE ->
          write(
              ProxyError.NONE_AVAILABLE,
              request.id(),
              () -> "no worker for model " + name(request) + " is available at the moment");
      case UNSPLITTABLE ->
          write(ProxyError.UNSPLITTABLE, request.id(), ProxyError.UNSPLITTABLE::message);
      case ALL_BUSY, ALL_TRIED -> {}
    }
  }

  /**
   * Logs a refused request for a path that is closed to clients.
   *
   * @param message as the client receives it
   */
  public void closed(LocalRequest request, ProxyError error, String message) {
    String target = request.method() + " " + request.path();
    write(error, request.requestId(), () -> LogText.of(target) + ": " + message);
  }

  private static String name(RoutingRequest request) {
    String model = request.model();
    return model == null ? "(none named)" : LogText.of(model);
  }

  private static String shown(Set<String> names) {
    return names.isEmpty() ? "none" : LogText.ofNames(names);
  }

  private void write(ProxyError error, @Nullable String request, Supplier<String> text) {
    LineRate rate = rates.computeIfAbsent(error, _ -> new LineRate(1));
    int missing = rate.take(TimeUnit.NANOSECONDS.toSeconds(ticker.nanos()));
    if (missing < 0) {
      return;
    }
    String more =
        missing == 0 ? "" : "; " + missing + " more with this reason since the last such line";
    lines.accept(
        "request "
            + (request == null ? "(no id)" : LogText.of(request))
            + " refused ("
            + error.code()
            + "): "
            + text.get()
            + more);
  }
}
