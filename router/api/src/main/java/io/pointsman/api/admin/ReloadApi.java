package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.LocalError;
import java.util.List;
import java.util.function.Supplier;

/** {@code POST /config/reload}: reads the configuration again, as SIGHUP. */
public final class ReloadApi {
  /**
   * Result of a reload.
   *
   * @param applied true if the configuration is in force now
   * @param changed paths of the keys that changed; empty if nothing was applied
   * @param problems reasons why nothing was applied, one line each
   */
  public record ReloadOutcome(boolean applied, List<String> changed, List<String> problems) {
    public ReloadOutcome {
      changed = List.copyOf(changed);
      problems = List.copyOf(problems);
    }

    /** A reload that was refused. */
    public static ReloadOutcome refused(List<String> problems) {
      return new ReloadOutcome(false, List.of(), problems);
    }
  }

  private volatile Supplier<ReloadOutcome> action =
      () -> ReloadOutcome.refused(List.of("the configuration of this router cannot be read again"));

  /** Sets the action that reads the configuration again. */
  public void action(Supplier<ReloadOutcome> next) {
    action = next;
  }

  /** Adds its route. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("POST", "/config/reload", _ -> reload());
  }

  private LocalResponse reload() {
    ReloadOutcome outcome = action.get();
    ObjectNode body = Json.object();
    body.put("reloaded", outcome.applied());
    ArrayNode changed = body.putArray("changed");
    outcome.changed().forEach(changed::add);
    ArrayNode problems = body.putArray("problems");
    outcome.problems().forEach(problems::add);
    return outcome.applied()
        ? Json.answer(200, body)
        : Json.answer(LocalError.RELOAD_REFUSED, body);
  }
}
