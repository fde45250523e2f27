package io.pointsman.sim.kv;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The protocols by which KV is handed over. */
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
  /** Bootstrap address and room, both legs at once. */
  SGLANG,
  /** The whole prefill reply inside the decode request. */
  ORCHESTRATED,
  /** Found by content in a store that engines share; nothing on the wire. */
  NONE;

  /** As the flag and the state name it. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /**
   * The connector of a flag's value; {@code _} and {@code -} are the same, and {@code moriio} is
   * what its engines do unless they are told to read.
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

  /** The field that every hand-over has. */
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
   * Whether a real engine of one role computes the prompt of a request without a hand-over. The
   * others fail on it, or take the prompt for computed.
   */
  public boolean servesDirectly() {
    return switch (this) {
      case NIXL, NIXL_PUSH, LMCACHE, MOONCAKE, ORCHESTRATED, NONE -> true;
      case P2P_NCCL, MORIIO_READ, MORIIO_WRITE, SGLANG -> false;
    };
  }

  /** Whether engines announce themselves to the router by ZeroMQ. */
  public boolean registers() {
    return this == P2P_NCCL || this == MORIIO_READ || this == MORIIO_WRITE;
  }
}
