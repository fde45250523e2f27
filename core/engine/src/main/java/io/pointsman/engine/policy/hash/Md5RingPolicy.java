package io.pointsman.engine.policy.hash;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code md5_ring}: the session ring of vLLM's production-stack, bit for bit. Both
 * routers can thus serve one fleet during a migration. Each URL has 160 points: the MD5 of {@code
 * url-0} to {@code url-159} as 128-bit numbers. A session belongs to the first point after the MD5
 * of its id. If several workers have that URL (data-parallel ranks), the low bits of the session's
 * MD5 choose the rank. While that rank is not eligible, the next one serves.
 *
 * <p>The points of an ineligible worker are skipped. A request without a session goes to the least
 * loaded worker.
 */
public final class Md5RingPolicy implements Policy {
  private static final int POINTS = 160;
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private static final Comparator<Worker> BY_RANK =
      Comparator.comparingInt((Worker worker) -> worker.spec().rank()).thenComparing(Worker::id);

  private static final ThreadLocal<Md5> MD5 = ThreadLocal.withInitial(Md5::new);

  private final RandomSource random;

  public Md5RingPolicy(RandomSource random) {
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    PointRing.Builder points = new PointRing.Builder();
    Md5 md5 = MD5.get();
    int[][] engines = engines(pool);
    for (int engine = 0; engine < engines.length; engine++) {
      String url = pool.worker(engines[engine][0]).spec().url();
      for (int point = 0; point < POINTS; point++) {
        md5.digest(url + "-" + point);
        points.add(md5.high(), md5.low(), engine);
      }
    }
    PointRing ring = points.build();
    return (request, now) -> pick(ring, engines, pool, request, now);
  }

  /** Returns the indexes of the workers at each URL, in an order that all routers agree on. */
  private static int[][] engines(Pool pool) {
    Map<String, List<Worker>> byUrl =
        pool.workers().stream()
            .sorted(BY_RANK)
            .collect(groupingBy(worker -> worker.spec().url(), LinkedHashMap::new, toList()));
    return byUrl.values().stream()
        .map(ranks -> ranks.stream().mapToInt(w -> pool.indexOfSlot(w.slot())).toArray())
        .toArray(int[][]::new);
  }

  private @Nullable Worker pick(
      PointRing ring, int[][] engines, Pool pool, RoutingRequest request, long now) {
    AffinityKey key = request.affinity();
    if (key == null || key.kind() != AffinityKey.Kind.SESSION) {
      request.picked(PickResult.of(PickReason.LEAST_LOAD));
      return pool.leastLoaded(now, request.tried(), random);
    }
    Md5 md5 = MD5.get();
    md5.digest(key.value());
    int place = ring.behind(md5.high(), md5.low());
    for (int step = 0; step < ring.size(); step++) {
      int[] ranks = engines[ring.owner(place, step)];
      int own = Math.floorMod(md5.low(), ranks.length);
      int index = firstEligible(ranks, own, pool, request, now);
      if (index != Pool.ABSENT) {
        boolean spilt = step > 0 || index != ranks[own];
        request.picked(PickResult.of(spilt ? PickReason.HASH_SPILL : PickReason.HASH));
        return pool.worker(index);
      }
      if (step == engines.length && pool.eligible(now, request.tried()) == 0) {
        return null;
      }
    }
    return null;
  }

  /**
   * Returns the first eligible worker of {@code ranks} from position {@code own} on, or {@link
   * Pool#ABSENT}.
   */
  private static int firstEligible(
      int[] ranks, int own, Pool pool, RoutingRequest request, long now) {
    for (int i = 0; i < ranks.length; i++) {
      int index = ranks[(own + i) % ranks.length];
      if (pool.loadIfEligible(index, now, request.tried()) != Pool.NOT_ELIGIBLE) {
        return index;
      }
    }
    return Pool.ABSENT;
  }

  /** A digest that its thread reuses. */
  private static final class Md5 {
    private final MessageDigest digest;
    private final byte[] bytes = new byte[16];

    Md5() {
      try {
        digest = MessageDigest.getInstance("MD5");
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException(e);
      }
    }

    void digest(String text) {
      try {
        digest.update(text.getBytes(UTF_8));
        digest.digest(bytes, 0, bytes.length);
      } catch (DigestException e) {
        throw new IllegalStateException(e);
      }
    }

    long high() {
      return (long) LONGS.get(bytes, 0);
    }

    long low() {
      return (long) LONGS.get(bytes, 8);
    }
  }
}
