package io.pointsman.config;

import static io.pointsman.config.RecordGroup.group;

import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.EngineTlsKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.engine.fleet.BreakerSettings;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.HealthSettings;
import io.pointsman.engine.fleet.StallSettings;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.EngineTlsSettings;

/** Builds the settings of workers, their probes, and the connections to them from values. */
final class FleetRecords {
  private FleetRecords() {}

  static FleetSettings fleet(ConfigValues values) {
    return new FleetSettings(
        values.get(FleetKeys.MAX_WORKERS),
        new HealthSettings(
            values.get(FleetKeys.HEALTH_FAILURES), values.get(FleetKeys.HEALTH_SUCCESSES)),
        new BreakerSettings(
            values.get(FleetKeys.BREAKER_ENABLED),
            values.get(FleetKeys.BREAKER_FAILURES),
            values.get(FleetKeys.BREAKER_SUCCESSES),
            values.get(FleetKeys.BREAKER_OPEN_FOR),
            values.get(FleetKeys.BREAKER_WINDOW),
            values.get(FleetKeys.BREAKER_MAX_EJECTED)),
        group(
            "stall",
            () ->
                new StallSettings(
                    values.get(FleetKeys.STALL_ENABLED),
                    values.get(FleetKeys.STALL_PATIENCE),
                    values.get(FleetKeys.STALL_PER_THOUSAND),
                    values.get(FleetKeys.STALL_MAX_PATIENCE))),
        values.get(DisaggKeys.MAX_PREFILLS),
        values.get(FleetKeys.SLOW_START));
  }

  static ProbeSettings probes(ConfigValues values) {
    return group(
        "health",
        () ->
            new ProbeSettings(
                values.get(FleetKeys.HEALTH_ENDPOINT),
                values.get(FleetKeys.HEALTH_ACCEPTED_STATUSES),
                values.get(FleetKeys.HEALTH_INTERVAL),
                values.get(FleetKeys.HEALTH_TIMEOUT),
                values.get(FleetKeys.HEALTH_FIRST_RETRY),
                values.get(FleetKeys.HEALTH_MOST_RETRY),
                values.get(FleetKeys.HEALTH_PARALLELISM),
                values.get(FleetKeys.MODELS_INTERVAL)));
  }

  static EngineKeys controlKeys(ConfigValues values, EngineKeys ofRequests) {
    String own = values.get(FleetKeys.HEALTH_API_KEY);
    return own.isEmpty()
        ? ofRequests
        : new EngineKeys(own, null, null, ofRequests.replace(), ofRequests.byUrl());
  }

  static EngineTlsSettings engineTls(ConfigValues values) {
    EngineTlsSettings ofAll =
        new EngineTlsSettings(
            values.get(EngineTlsKeys.CA_FILE),
            values.get(EngineTlsKeys.CERTIFICATE_FILE),
            values.get(EngineTlsKeys.KEY_FILE),
            values.get(EngineTlsKeys.SERVER_NAME),
            values.get(EngineTlsKeys.INSECURE_SKIP_VERIFY));
    for (WorkerSpec worker : values.get(RoutingKeys.WORKERS)) {
      try {
        EngineTlsSettings _ = ofAll.with(worker.labels());
      } catch (IllegalArgumentException e) {
        throw new ConfigException("workers: " + worker.id() + ": " + e.getMessage());
      }
    }
    return ofAll;
  }
}
