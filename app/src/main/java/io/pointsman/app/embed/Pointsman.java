package io.pointsman.app.embed;

import io.pointsman.app.config.ConfigException;
import io.pointsman.app.config.ConfigValues;
import io.pointsman.app.config.PointsmanConfig;
import io.pointsman.app.config.key.ConfigKeys;
import io.pointsman.app.config.key.Key;
import io.pointsman.app.config.key.RoutingKeys;
import io.pointsman.app.config.value.Nearest;
import io.pointsman.app.config.value.Raw;
import io.pointsman.app.wiring.EmbeddedEngine;
import io.pointsman.app.wiring.Router;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.ArrayList;
import java.util.List;

/**
 * Embeds the whole router, or its engine alone, in another program; docs/embedding.md has an
 * example of each.
 */
public final class Pointsman {
  private static final String VERSION = "embedded";

  private Pointsman() {}

  /** A configuration in which everything has its default and there is no worker. */
  public static Builder builder() {
    return new Builder();
  }

  /** Collects a configuration, then starts something with it. Not safe for threads. */
  public static final class Builder {
    private final ConfigValues values = new ConfigValues();
    private final List<WorkerSpec> workers = new ArrayList<>();

    private Builder() {}

    /**
     * Chooses the value of a key, as it would stand in the file.
     *
     * @param path a key of docs/reference/configuration.md, such as {@code cache.threshold}
     * @throws ConfigException if there is no such key, or if the value is none for it
     */
    public Builder set(String path, String value) {
      Key<?> key = ConfigKeys.at(path);
      if (key == null) {
        throw new ConfigException(path + ": unknown key" + Nearest.hint(path, ConfigKeys.paths()));
      }
      values.read(key, new Raw.Scalar(value, "builder"));
      return this;
    }

    /**
     * Chooses the policy.
     *
     * @param name a name of docs/policies.md, or that of a class that implements {@code Policy}
     */
    public Builder policy(String name) {
      return set("policy", name);
    }

    /**
     * Adds a worker whose id is the URL's {@code host:port} and whose models are learned from it.
     *
     * @param url {@code http://host:port}
     */
    public Builder worker(String url) {
      return worker(WorkerSpec.of(url));
    }

    public Builder worker(WorkerSpec worker) {
      workers.add(worker);
      return this;
    }

    private PointsmanConfig config() {
      if (!workers.isEmpty()) {
        values.set(RoutingKeys.WORKERS, List.copyOf(workers));
      }
      return PointsmanConfig.from(values);
    }

    /**
     * Starts the whole router, listening on {@code listen.port}; to be closed by the caller.
     *
     * @throws ConfigException if values contradict each other
     * @throws io.pointsman.app.wiring.StartException if it cannot start
     */
    public Router startRouter() {
      return Router.start(config(), VERSION);
    }

    /**
     * Starts the engine alone: it watches the workers and chooses among them, and listens on no
     * port; to be closed by the caller.
     *
     * @throws ConfigException if values contradict each other
     * @throws io.pointsman.app.wiring.StartException if it cannot start
     */
    public EmbeddedEngine startEngine() {
      return EmbeddedEngine.start(config());
    }
  }
}
