package io.pointsman.tool.sim.zmq;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/**
 * The data with which an engine registers at the router.
 *
 * @param type {@code P} or {@code D}
 * @param httpAddress host:port of its API
 * @param zmqAddress address for other engines
 * @param transferMode {@code READ} or {@code WRITE} with MoRI-IO; empty: P2P NCCL
 * @param dpSize data-parallel ranks, sent with a transfer mode
 * @param tpSize tensor-parallel ranks, sent with a transfer mode
 */
public record Registration(
    String type,
    String httpAddress,
    String zmqAddress,
    String transferMode,
    int dpSize,
    int tpSize) {
  byte[] bytes() {
    boolean sizes = !transferMode.isEmpty();
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      packer.packMapHeader(sizes ? 6 : 3);
      packer.packString("type").packString(type);
      packer.packString("http_address").packString(httpAddress);
      packer.packString("zmq_address").packString(zmqAddress);
      if (sizes) {
        packer.packString("dp_size").packInt(dpSize);
        packer.packString("tp_size").packInt(tpSize);
        packer.packString("transfer_mode").packString(transferMode);
      }
      return packer.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
