package io.pointsman.tool.sim.kv;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The protocols for KV transfer. */
public enum KvConnector {
  /** NIXL, decode pulls. */
  NIXL,
  /** NIXL, prefill pushes. */
  NIXL_PUSH,
  /** LMCache: prefill pushes to the decode engine's ports and notifies the router. */
  LMCACHE,
  /** Addresses inside the request id. */
  P2P_NCCL,
  /** Pairing by transfer id through a bootstrap server. */
  MOONCAKE,
  /** MoRI-IO, decode reads. */
  MORIIO_READ,
  /** MoRI-IO, prefill writes. */
  MORIIO_WRITE,
  /** Bootstrap address and room, both requests at once. */
  SGLANG,
  /** The whole prefill response inside the decode request. */
  ORCHESTRATED,
  /** Found by content in a store for several engines; no transfer data in requests. */
  NONE;

  /** The name in the flag and the state. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /**
   * Returns the connector of a flag's value. {@code _} and {@code -} are equivalent; {@code moriio}
   * means {@link #MORIIO_WRITE}, the default of its engines.
   */
  public static KvConnector of(String label) {
    String wanted = label.trim().toLowerCase(Locale.ROOT).replace('_', '-');
    if (wanted.equals("moriio")) {
      return MORIIO_WRITE;
    }
    for (KvConnector connector : values()) {
      if (connector.label().equals(wanted)) {
        return connector;
      }
    }
    String all = Arrays.stream(values()).map(KvConnector::label).collect(Collectors.joining(", "));
    throw new IllegalArgumentException("kv-connector: " + label + " (expected: " + all + ")");
  }

  /** The field that every handover requires. */
  public String required() {
    return switch (this) {
      case NIXL, NIXL_PUSH, LMCACHE, MOONCAKE, MORIIO_READ, MORIIO_WRITE -> "kv_transfer_params";
      case P2P_NCCL -> "X-Request-Id";
      case SGLANG -> "bootstrap_room";
      case ORCHESTRATED -> "disagg_prefill_resp";
      case NONE -> "prompt";
    };
  }

  /**
   * Returns true if a real engine of one role computes the prompt of a request without a handover.
   * The others fail, or assume that the prompt is computed.
   */
  public boolean servesDirectly() {
    return switch (this) {
      case NIXL, NIXL_PUSH, LMCACHE, MOONCAKE, ORCHESTRATED, NONE -> true;
      case P2P_NCCL, MORIIO_READ, MORIIO_WRITE, SGLANG -> false;
    };
  }

  /** Returns true if engines register with the router by ZeroMQ. */
  public boolean registers() {
    return this == P2P_NCCL || this == MORIIO_READ || this == MORIIO_WRITE;
  }
}
