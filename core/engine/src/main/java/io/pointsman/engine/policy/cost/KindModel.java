package io.pointsman.engine.policy.cost;

import io.pointsman.engine.policy.cost.cache.KindCache;
import io.pointsman.engine.policy.cost.latency.PoolModel;

/** The models that all workers of one kind share. Any thread. */
public final class KindModel {
  private final WorkerKind kind;
  private final PoolModel pool;
  private final KindCache cache;
  private final CostTerms terms;

  /** Uses all parts of the rule. */
  KindModel(WorkerKind kind, PoolModel pool, KindCache cache) {
    this(kind, pool, cache, CostTerms.ALL);
  }

  KindModel(WorkerKind kind, PoolModel pool, KindCache cache, CostTerms terms) {
    this.kind = kind;
    this.pool = pool;
    this.cache = cache;
    this.terms = terms;
    if (!terms.delays()) {
      pool.assumeNoDelays();
    }
  }

  WorkerKind kind() {
    return kind;
  }

  /** Returns the model of lengths and times. */
  PoolModel pool() {
    return pool;
  }

  /** Returns the model of cache properties. */
  KindCache cache() {
    return cache;
  }

  /** Returns the parts of the rule that apply. */
  CostTerms terms() {
    return terms;
  }

  /** Copies the learned values of another kind. */
  void beginFrom(KindModel former) {
    pool.beginFrom(former.pool);
    cache.beginFrom(former.cache);
  }
}
