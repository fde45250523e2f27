package io.pointsman.engine.fleet;

/**
 * A worker that has left, with its state before it left. Its cell may belong to another worker by
 * now.
 *
 * @param served true if it was healthy and nothing but an operator kept requests away
 * @param drained true if its source lets it drain
 * @param models the models that it reported, or that were configured
 */
public record FormerWorker(
    Worker worker, boolean served, boolean drained, boolean cordoned, ServedModels models) {
  /** The state of a worker that has not left yet. */
  static FormerWorker of(Worker worker, ServedModels models) {
    return new FormerWorker(
        worker, worker.servesNow(), worker.withdrawn(), worker.cordoned(), models);
  }

  /** True if {@code spec} is the same engine. */
  private boolean isEngineOf(WorkerSpec spec) {
    return worker.spec().base().equals(spec.base()) && worker.spec().rank() == spec.rank();
  }

  /** The models of a replacement until its first probe. */
  ServedModels modelsOf(WorkerSpec spec) {
    boolean same = isEngineOf(spec) && spec.models().equals(worker.spec().models());
    return same ? models : ServedModels.configured(spec.models());
  }

  /**
   * Gives a replacement the state that does not depend on the settings. It serves at once if it is
   * the same engine, which has served until now.
   */
  void passTo(Worker next) {
    WorkerSpec spec = next.spec();
    next.cordon(cordoned);
    if (!isEngineOf(spec)) {
      return;
    }
    if (spec.weight() == worker.spec().weight()) {
      next.weight(worker.weight());
    }
    if (spec.labels().equals(worker.spec().labels())) {
      next.labels(worker.labels());
    }
    next.learnKvTokens(worker.kvTokens());
    next.follow(worker);
    if (served && modelsOf(spec).known()) {
      next.probes().beginHealthy();
    }
  }
}
