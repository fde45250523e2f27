package io.pointsman.api.admin;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.local.WorkerPins;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Ids of engines as in vLLM's production-stack: the UUID of version 5 of the name of a pod or
 * Service. A listed engine has that of its URL; there it is random at each start. Any thread.
 */
public final class EngineIds implements WorkerPins {
  private static final UUID DNS = UUID.fromString("6ba7b810-9dad-11d1-80b4-00c04fd430c8");

  /**
   * An engine and the time at which it joined.
   *
   * @param since seconds since 1970
   */
  record Engine(String id, Worker worker, long since) {}

  private final InstantSource clock;
  private volatile Map<String, Engine> byId = Map.of();

  public EngineIds(Fleet fleet, InstantSource clock) {
    this.clock = clock;
    fleet.listen(this::follow);
  }

  private synchronized void follow(FleetSnapshot snapshot) {
    Map<String, Engine> before = byId;
    Map<String, Engine> now = new LinkedHashMap<>();
    for (Worker worker : snapshot.workers()) {
      String id = of(worker.spec());
      Engine known = before.get(id);
      boolean same = known != null && known.worker() == worker;
      now.putIfAbsent(id, same ? known : new Engine(id, worker, clock.instant().getEpochSecond()));
    }
    byId = now;
  }

  /** The engines by id, in the order of the fleet. */
  Map<String, Engine> all() {
    return byId;
  }

  /** Returns the id of an engine; ranks of one engine have the same. */
  static String of(WorkerSpec spec) {
    Map<String, String> labels = spec.labels();
    String name = labels.getOrDefault("pod", labels.getOrDefault("service", spec.url()));
    return named(name).toString();
  }

  /** Returns the UUID of version 5 of a name in the namespace of DNS. */
  static UUID named(String name) {
    try {
      MessageDigest sha1 = MessageDigest.getInstance("SHA-1");
      sha1.update(
          ByteBuffer.allocate(16)
              .putLong(DNS.getMostSignificantBits())
              .putLong(DNS.getLeastSignificantBits())
              .array());
      ByteBuffer digest = ByteBuffer.wrap(sha1.digest(name.getBytes(UTF_8)));
      long high = (digest.getLong() & ~0xf000L) | 0x5000L;
      long low = (digest.getLong() & (-1L >>> 2)) | Long.MIN_VALUE;
      return new UUID(high, low);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public @Nullable String worker(String uri) {
    int query = uri.indexOf('?');
    if (query < 0) {
      return null;
    }
    for (String parameter : uri.substring(query + 1).split("&", -1)) {
      if (parameter.startsWith("id=")) {
        String id = decoded(parameter.substring(3));
        Engine engine = byId.get(id);
        return engine == null ? id : engine.worker().id();
      }
    }
    return null;
  }

  private static String decoded(String id) {
    try {
      return URLDecoder.decode(id, UTF_8);
    } catch (IllegalArgumentException e) {
      return id;
    }
  }
}
