package io.pointsman.proxy.admission;

import io.pointsman.engine.ModelNames;
import io.pointsman.engine.env.Ticker;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The waiting lines: one for each model that has limits of its own, and one for everything else. No
 * request stands in two, so that a model whose line is long holds up no other. Safe for use by
 * several threads.
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
   * Where a request for {@code model} waits.
   *
   * @param model null if it names none
   */
  public Admission of(@Nullable String model) {
    return ModelNames.find(ofModels, model, common);
  }

  /** How many wait in all lines. */
  public int queued() {
    int queued = common.queued();
    for (Admission each : ofModels.values()) {
      queued += each.queued();
    }
    return queued;
  }
}
