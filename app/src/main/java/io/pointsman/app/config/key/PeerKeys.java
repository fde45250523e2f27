package io.pointsman.app.config.key;

import io.pointsman.app.config.value.CheckedText;
import io.pointsman.app.peers.PeerSettings;
import java.util.List;

/** Keys of the ZeroMQ messages from engines: registrations and notifications. */
public final class PeerKeys {
  private static final PeerSettings DEFAULTS = PeerSettings.DEFAULTS;

  public static final Key<String> REGISTRATION_ADDRESS =
      Key.of(
          "disaggregation.registration-address",
          address(),
          DEFAULTS.registrationAddress(),
          "p2p_nccl and moriio: where engines register by ZeroMQ; they join with their role and"
              + " leave when they are silent for 5 s.",
          "Whoever reaches it can add workers, so it is for a network of engines only; empty"
              + " listens nowhere, which moriio refuses.");

  public static final Key<String> NOTIFICATION_ADDRESS =
      Key.of(
          "disaggregation.notification-address",
          address(),
          DEFAULTS.notificationAddress(),
          "lmcache: where prefill engines say by ZeroMQ that their blocks have arrived, their"
              + " pd_proxy_host and pd_proxy_port.",
          "lmcache needs one; an address that engines do not reach makes each request wait for"
              + " disaggregation.notification-wait.");

  private PeerKeys() {}

  private static CheckedText address() {
    return new CheckedText(
        "<host:port>", "host:port, where * is every address; or nothing", PeerSettings::isAddress);
  }

  static List<Key<?>> all() {
    return List.of(REGISTRATION_ADDRESS, NOTIFICATION_ADDRESS);
  }
}
