package io.pointsman.engine.policy.cost;

import io.pointsman.engine.policy.cost.cache.KindCache;
import io.pointsman.engine.policy.cost.latency.PoolModel;

/** The models that all workers of one kind share. Any thread. */
public final class KindModel {
  private final Kind kind;
  private final PoolModel pool;
  private final KindCache cache;

  KindModel(Kind kind, PoolModel pool, KindCache cache) {
    this.kind = kind;
    this.pool = pool;
    this.cache = cache;
  }

  Kind kind() {
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

  /** Copies the learned values of another kind. */
  void beginFrom(KindModel former) {
    pool.beginFrom(former.pool);
    cache.beginFrom(former.cache);
  }
}
