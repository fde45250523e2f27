package io.pointsman.engine.policy.cost;

import io.pointsman.engine.policy.cost.cache.KindCache;
import io.pointsman.engine.policy.cost.latency.PoolModel;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The models of all kinds that have workers. Any thread. */
final class KindModels {
  private final CostSettings settings;
  private final CostTerms terms;
  private final Map<WorkerKind, KindModel> models = new HashMap<>();

  /** The source of learned times; null if this instance learns them. */
  private @Nullable KindModels teacher;

  KindModels(CostSettings settings, CostTerms terms) {
    this.settings = settings;
    this.terms = terms;
  }

  /** Uses the times that {@code other} learns. To be called before any other method. */
  synchronized void learnFrom(KindModels other) {
    teacher = other;
  }

  /**
   * Returns the model of a kind; creates it if necessary.
   *
   * @param former the previous kind of a worker that is now of this kind; null for a new worker
   */
  synchronized KindModel get(WorkerKind kind, @Nullable KindModel former) {
    KindModel present = models.get(kind);
    if (present != null) {
      return present;
    }
    PoolModel taught = teacher == null ? null : teacher.get(kind, null).pool();
    PoolModel pool =
        new PoolModel(settings.stepTokens(), settings.priceFloor(), settings.kvTokens(), taught);
    KindModel created = new KindModel(kind, pool, new KindCache(), terms);
    if (former != null && kind.continues(former.kind())) {
      created.beginFrom(former);
    }
    models.put(kind, created);
    return created;
  }

  /** Removes a kind that has no workers. */
  synchronized void removeIfUnused(KindModel model) {
    if (model.pool().unused()) {
      models.remove(model.kind(), model);
    }
  }

  /** Returns the number of kinds. */
  synchronized int size() {
    return models.size();
  }
}
