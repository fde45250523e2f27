package io.pointsman.proxy.identity;

import static java.util.Objects.requireNonNull;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The own limits of a client.
 *
 * @param ofEach limits for each model
 * @param byModel further limits for single models, which precede
 */
public record ClientQuotas(ClientQuota ofEach, Map<String, ClientQuota> byModel) {
  /** No own limits. */
  public static final ClientQuotas NONE = new ClientQuotas(ClientQuota.INHERITED, Map.of());

  public ClientQuotas {
    requireNonNull(ofEach, "ofEach");
    byModel = Map.copyOf(byModel);
  }

  /**
   * The limits for a model.
   *
   * @param model null for requests without a model
   * @param defaults limits of clients without own ones
   */
  public ClientQuota of(@Nullable String model, ClientQuota defaults) {
    ClientQuota usual = ofEach.or(defaults);
    ClientQuota own = model == null ? null : byModel.get(model);
    return own == null ? usual : own.or(usual);
  }
}
