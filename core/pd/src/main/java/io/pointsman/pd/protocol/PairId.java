package io.pointsman.pd.protocol;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.peer.Address;
import io.pointsman.pd.peer.Peers;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.request.handover.HandoverFields;
import java.util.regex.Pattern;

/** A request id that contains both workers' addresses, in the form that vLLM's connectors parse. */
final class PairId {
  static final String EXPECTED = "an address of the form host:port (IPv6 cannot be part of an id)";

  static final String PREFILL = HandoverFields.PREFILL_ADDRESS;
  static final String DECODE = HandoverFields.DECODE_ADDRESS;

  private static final Pattern PLAIN = Pattern.compile("[^:\\[\\]_]+:\\d{1,5}");

  private PairId() {}

  /** Returns the address for other engines: as registered, else as in the worker's URL. */
  static String address(Peers peers, Worker worker) {
    String registered = peers.of(worker).kvAddress();
    return registered == null ? Address.authority(worker) : registered;
  }

  /** Returns true if engines can parse the address from an id. */
  static boolean plain(String address) {
    return PLAIN.matcher(address).matches();
  }

  static String of(String prefill, String decode, PdRequest request) {
    return PREFILL + prefill + DECODE + decode + "_" + request.nonce();
  }
}
