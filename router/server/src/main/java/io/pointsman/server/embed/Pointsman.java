package io.pointsman.server.embed;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.FormerKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.value.Nearest;
import io.pointsman.config.value.RawValue;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.server.wiring.EmbeddedEngine;
import io.pointsman.server.wiring.Router;
import java.util.ArrayList;
import java.util.List;

/** Embeds the router, or only its engine, in another program; docs/embedding.md has examples. */
public final class Pointsman {
  private static final String VERSION = "embedded";

  private Pointsman() {}

  /** A builder with the default configuration and no workers. */
  public static Builder builder() {
    return new Builder();
  }

  /** Builder of a configuration, which then starts a router or an engine. Not thread-safe. */
  public static final class Builder {
    private final ConfigValues values = new ConfigValues();
    private final List<WorkerSpec> workers = new ArrayList<>();

    private Builder() {}

    /**
     * Sets a key to a value, written as in the configuration file.
     *
     * @param path a key of docs/reference/configuration.md, for example {@code cache.threshold}
     * @throws ConfigException if the key is unknown or the value is invalid
     */
    public Builder set(String path, String value) {
      Key<?> key = ConfigKeys.at(path);
      if (key == null) {
        throw new ConfigException(
            FormerKeys.problemOfPath(path)
                .orElseGet(() -> path + ": unknown key" + Nearest.hint(path, ConfigKeys.paths())));
      }
      values.read(key, new RawValue.Scalar(value, "builder"));
      return this;
    }

    /**
     * Sets the policy.
     *
     * @param name a name of docs/policies.md, or the name of a class that implements {@code Policy}
     */
    public Builder policy(String name) {
      return set("policy", name);
    }

    /**
     * Adds a worker. Its id is the {@code host:port} of the URL, and its models are read from the
     * engine.
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
     * Starts the router on {@code listen.port}. The caller must close it.
     *
     * @throws ConfigException if values contradict each other
     * @throws io.pointsman.server.wiring.StartException if the router cannot start
     */
    public Router startRouter() {
      return Router.start(config(), VERSION);
    }

    /**
     * Starts only the engine: it probes the workers and chooses among them, without a port. The
     * caller must close it.
     *
     * @throws ConfigException if values contradict each other
     * @throws io.pointsman.server.wiring.StartException if the engine cannot start
     */
    public EmbeddedEngine startEngine() {
      return EmbeddedEngine.start(config());
    }
  }
}
