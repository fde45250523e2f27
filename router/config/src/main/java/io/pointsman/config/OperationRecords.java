package io.pointsman.config;

import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.BatchKeys;
import io.pointsman.config.key.DecideKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ListenerKeys;
import io.pointsman.config.key.QueueKeys;
import io.pointsman.config.key.TracingKeys;
import io.pointsman.config.settings.AdminSettings;
import io.pointsman.config.settings.BatchSettings;
import io.pointsman.config.settings.DecideSettings;
import io.pointsman.config.settings.TracingSettings;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.proxy.tls.ServerTlsSettings.ClientCertificates;

/** Builds the settings of administration, tracing and batches from values. */
final class OperationRecords {
  private OperationRecords() {}

  static AdminSettings admin(ConfigValues values) {
    return new AdminSettings(
        values.get(AdminKeys.ENABLED),
        values.get(AdminKeys.ADD_TIMEOUT),
        values.get(AdminKeys.DATA_PARALLEL_SIZE),
        values.get(FleetKeys.MODELS_MERGED),
        values.get(FleetKeys.HEALTH_ANSWER),
        values.get(AdminKeys.REFUSED_PATHS),
        values.get(AdminKeys.RAY_APPLICATION),
        values.get(AdminKeys.CONTROL_TIMEOUT));
  }

  static DecideSettings decide(ConfigValues values) {
    return new DecideSettings(
        values.get(DecideKeys.ENABLED),
        new ExternalLeaseSettings(
            values.get(DecideKeys.MAX_LEASES),
            values.get(DecideKeys.TTL),
            values.get(DecideKeys.MAX_TTL),
            values.get(DecideKeys.MAX_LIFETIME),
            values.get(DecideKeys.MAX_SHARE),
            values.get(DecideKeys.FAILURE_SHARE)),
        values.get(DecideKeys.SPOE_ADDRESS));
  }

  static TracingSettings tracing(ConfigValues values) {
    return new TracingSettings(
        values.get(TracingKeys.ENABLED),
        values.get(TracingKeys.ENDPOINT),
        values.get(TracingKeys.PROTOCOL),
        values.get(TracingKeys.SAMPLING_RATIO),
        values.get(TracingKeys.EXCLUDED_PATHS),
        values.get(TracingKeys.SERVICE_NAME));
  }

  static BatchSettings batch(ConfigValues values) {
    boolean everybody =
        !values.get(ListenerKeys.CLIENT_CA_FILE).isEmpty()
            && values.get(ListenerKeys.CLIENT_CERTIFICATES) == ClientCertificates.REQUIRED;
    if (values.get(BatchKeys.ENABLED) && everybody) {
      throw new IllegalArgumentException(
          "enabled: true while tls.client-certificates is required (expected: optional, because the"
              + " requests of batches have no certificate)");
    }
    return new BatchSettings(
        values.get(BatchKeys.ENABLED),
        values.get(BatchKeys.DIRECTORY),
        values.get(BatchKeys.MAX_FILE),
        values.get(BatchKeys.MAX_TOTAL),
        values.get(BatchKeys.MAX_SHARE),
        values.get(BatchKeys.MAX_REQUESTS),
        values.get(BatchKeys.PARALLELISM),
        values.get(BatchKeys.ATTEMPTS),
        values.get(BatchKeys.REQUEST_TIMEOUT),
        values.get(BatchKeys.API_KEY));
  }

  static boolean wakeSleeping(ConfigValues values) {
    boolean wakes = values.get(QueueKeys.WAKE_SLEEPING);
    if (wakes && !values.get(QueueKeys.DEFER_WITHOUT_WORKER).isPositive()) {
      throw new ConfigException(
          "queue.wake-sleeping: true while queue.defer-without-worker is 0 (expected: a time in"
              + " which an engine wakes)");
    }
    return wakes;
  }
}
