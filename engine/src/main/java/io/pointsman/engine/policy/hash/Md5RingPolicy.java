package io.pointsman.engine.policy.hash;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.jspecify.annotations.Nullable;

/**
 * {@code md5_ring}: the session ring of vLLM's production-stack, bit for bit, so that both can
 * serve one fleet during a migration. Each worker has 160 points, the MD5 of {@code url-0} to
 * {@code url-159} as 128-bit numbers; a session belongs to the first point behind the MD5 of its
 * id.
 *
 * <p>A worker that is out is walked past, as if its points were not there. A request without a
 * session goes to the least loaded worker.
 */
public final class Md5RingPolicy implements Policy {
  private static final int POINTS = 160;
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private static final ThreadLocal<Md5> MD5 = ThreadLocal.withInitial(Md5::new);

  private final Dice dice;

  public Md5RingPolicy(Dice dice) {
    this.dice = dice;
  }

  @Override
  public Picker picker(Pool pool) {
    PointRing.Builder points = new PointRing.Builder();
    Md5 md5 = MD5.get();
    for (int index = 0; index < pool.size(); index++) {
      String url = pool.worker(index).spec().url();
      for (int point = 0; point < POINTS; point++) {
        md5.digest(url + "-" + point);
        points.add(md5.high(), md5.low(), index);
      }
    }
    PointRing ring = points.build();
    return (request, now) -> pick(ring, pool, request, now);
  }

  private @Nullable Worker pick(PointRing ring, Pool pool, RoutingRequest request, long now) {
    AffinityKey key = request.affinity();
    if (key == null || key.kind() != AffinityKey.Kind.SESSION) {
      request.notes().because(PickReason.LEAST_LOAD);
      return pool.leastLoaded(now, request.tried(), dice);
    }
    Md5 md5 = MD5.get();
    md5.digest(key.value());
    int place = ring.behind(md5.high(), md5.low());
    for (int step = 0; step < ring.size(); step++) {
      int index = ring.owner(place, step);
      if (pool.loadIfEligible(index, now, request.tried()) != Pool.NOT_ELIGIBLE) {
        request.notes().because(step == 0 ? PickReason.HASH : PickReason.HASH_SPILL);
        return pool.worker(index);
      }
      if (step == pool.size() && pool.eligible(now, request.tried()) == 0) {
        return null;
      }
    }
    return null;
  }

  /** A digest used again by its thread. */
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
