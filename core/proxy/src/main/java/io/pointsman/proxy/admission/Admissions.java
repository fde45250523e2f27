package io.pointsman.proxy.admission;

import io.pointsman.engine.ModelNames;
import io.pointsman.engine.env.Ticker;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The admission queues: one for each model with its own limit, and a common one for all other
 * models. Each request waits in one queue, so a long queue of one model does not delay other
 * models. Thread-safe.
 */
public final class Admissions {
  private final Admission common;
  private final Map<String, Admission> ofModels = new HashMap<>();

  public Admissions(AdmissionSettings settings, Ticker ticker) {
    common = new Admission(settings, ticker);
    for (ModelLimit limit : settings.models()) {
      ofModels.put(limit.model(), new Admission(settings.with(limit), ticker));
    }
  }

  /**
   * The queue for requests of {@code model}.
   *
   * @param model null if the request names none
   */
  public Admission of(@Nullable String model) {
    return ModelNames.find(ofModels, model, common);
  }

  /** Number of waiting requests in all queues. */
  public int queued() {
    int queued = common.queued();
    for (Admission each : ofModels.values()) {
      queued += each.queued();
    }
    return queued;
  }
}
