package io.pointsman.engine;

import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.ServedModels;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Workers for requests that began before all workers of their role got another one. */
final class EarlierRoles {
  private EarlierRoles() {}

  /**
   * Returns the workers that had the role of a request, and may serve its model. Empty if the
   * request accepts none of these, or a worker has the role now.
   *
   * @param anyServesWhole true if each worker serves whole requests
   */
  static List<Worker> of(FleetSnapshot snapshot, RoutingRequest request, boolean anyServesWhole) {
    if (!request.acceptsEarlierRoles() || !snapshot.pool(request.role()).isEmpty()) {
      return List.of();
    }
    String pinned = request.pinnedWorker();
    boolean any = anyServesWhole && request.role() == Role.REGULAR;
    List<Worker> able = new ArrayList<>();
    for (Worker worker : snapshot.workers()) {
      if ((any || worker.earlierRole() == request.role())
          && (pinned == null || pinned.equals(worker.id()))
          && serves(snapshot.models(worker), request.model())) {
        able.add(worker);
      }
    }
    return able;
  }

  /** Returns the least loaded worker that admits a request; null if there is none. */
  static @Nullable Worker leastLoaded(List<Worker> able, RoutingRequest request, long now) {
    Worker least = null;
    for (Worker worker : able) {
      if (request.admits(worker, now) && (least == null || worker.load() < least.load())) {
        least = worker;
      }
    }
    return least;
  }

  private static boolean serves(ServedModels models, @Nullable String model) {
    return model == null || models.any() || models.names().contains(model);
  }
}
