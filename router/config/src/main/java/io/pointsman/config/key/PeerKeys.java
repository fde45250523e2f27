package io.pointsman.config.key;

import io.pointsman.config.settings.PeerSettings;
import io.pointsman.config.value.CheckedText;
import java.util.List;

/** Keys of the ZeroMQ messages from engines: registrations and notifications. */
public final class PeerKeys {
  private static final PeerSettings DEFAULTS = PeerSettings.DEFAULTS;

  public static final Key<String> REGISTRATION_ADDRESS =
      Key.of(
          "disaggregation.registration-address",
          address(),
          DEFAULTS.registrationAddress(),
          "p2p_nccl and moriio: ZeroMQ address where engines register with their role. An engine"
              + " that is silent for 5 s is removed.",
          "Anyone who reaches this address can add workers; use it only in a network of engines."
              + " Empty: no registration; `moriio` needs an address.");

  public static final Key<String> NOTIFICATION_ADDRESS =
      Key.of(
          "disaggregation.notification-address",
          address(),
          DEFAULTS.notificationAddress(),
          "lmcache: ZeroMQ address where prefill engines report that their blocks have arrived. Set"
              + " it in the engines as `pd_proxy_host` and `pd_proxy_port`.",
          "`lmcache` needs this address. If engines cannot reach it, each request waits for"
              + " `disaggregation.notification-wait`.");

  private PeerKeys() {}

  private static CheckedText address() {
    return new CheckedText(
        "<host:port>", "host:port, where * is every address; or empty", PeerSettings::isAddress);
  }

  static List<Key<?>> all() {
    return List.of(REGISTRATION_ADDRESS, NOTIFICATION_ADDRESS);
  }
}
