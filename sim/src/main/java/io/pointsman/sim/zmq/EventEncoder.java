package io.pointsman.sim.zmq;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.List;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/** Writes batches of KV events as engines do. */
final class EventEncoder {
  /** As of SHA-256. */
  private static final int HASH_BYTES = 32;

  private final EventFormat format;
  private final int blockSize;
  private final int rank;

  EventEncoder(EventFormat format, int blockSize, int rank) {
    this.format = format;
    this.blockSize = blockSize;
    this.rank = rank;
  }

  byte[] encode(double seconds, List<CacheChange> changes) {
    try (MessageBufferPacker out = MessagePack.newDefaultBufferPacker()) {
      out.packArrayHeader(format == EventFormat.SGLANG ? 2 : 3);
      out.packDouble(seconds);
      out.packArrayHeader(changes.stream().mapToInt(this::events).sum());
      for (CacheChange change : changes) {
        switch (change) {
          case CacheChange.Stored stored -> stored(out, stored);
          case CacheChange.Removed(long hash) -> removed(out, hash);
          case CacheChange.Cleared _ -> cleared(out);
        }
      }
      if (format != EventFormat.SGLANG) {
        out.packInt(rank);
      }
      return out.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private int events(CacheChange change) {
    return change instanceof CacheChange.Stored stored && format == EventFormat.SGLANG
        ? stored.to() - stored.from()
        : 1;
  }

  private void stored(MessageBufferPacker out, CacheChange.Stored stored) throws IOException {
    switch (format) {
      case VLLM -> array(out, stored);
      case VLLM_MAP -> map(out, stored);
      case SGLANG -> {
        for (int block = stored.from(); block < stored.to(); block++) {
          page(out, stored, block);
        }
      }
    }
  }

  private void array(MessageBufferPacker out, CacheChange.Stored stored) throws IOException {
    out.packArrayHeader(9).packString("BlockStored");
    hashes(out, stored);
    parent(out, stored, stored.from());
    tokens(out, stored, stored.from(), stored.to());
    out.packInt(blockSize);
    adapterId(out, stored);
    out.packString("GPU");
    adapterName(out, stored);
    extras(out, stored);
  }

  private void map(MessageBufferPacker out, CacheChange.Stored stored) throws IOException {
    out.packMapHeader(10).packString("type").packString("BlockStored");
    out.packString("block_hashes");
    hashes(out, stored);
    out.packString("parent_block_hash");
    parent(out, stored, stored.from());
    out.packString("token_ids");
    tokens(out, stored, stored.from(), stored.to());
    out.packString("block_size").packInt(blockSize);
    out.packString("lora_id");
    adapterId(out, stored);
    out.packString("medium").packString("GPU");
    out.packString("lora_name");
    adapterName(out, stored);
    out.packString("extra_keys");
    extras(out, stored);
    out.packString("group_idx").packInt(0);
  }

  private void page(MessageBufferPacker out, CacheChange.Stored stored, int block)
      throws IOException {
    boolean salted = !stored.origin().cacheSalt().isEmpty();
    out.packArrayHeader(salted ? 8 : 6).packString("BlockStored");
    out.packArrayHeader(1);
    hash(out, stored.hashes()[block]);
    parent(out, stored, block);
    tokens(out, stored, block, block + 1);
    out.packInt(blockSize);
    out.packNil();
    if (salted) {
      out.packString("GPU").packString(stored.origin().cacheSalt());
    }
  }

  private void hashes(MessageBufferPacker out, CacheChange.Stored stored) throws IOException {
    out.packArrayHeader(stored.to() - stored.from());
    for (int block = stored.from(); block < stored.to(); block++) {
      hash(out, stored.hashes()[block]);
    }
  }

  private void parent(MessageBufferPacker out, CacheChange.Stored stored, int block)
      throws IOException {
    if (block == 0) {
      out.packNil();
    } else {
      hash(out, stored.hashes()[block - 1]);
    }
  }

  private void tokens(MessageBufferPacker out, CacheChange.Stored stored, int from, int to)
      throws IOException {
    out.packArrayHeader((to - from) * blockSize);
    for (int i = from * blockSize; i < to * blockSize; i++) {
      out.packInt(stored.origin().tokens()[i]);
    }
  }

  private static void adapterId(MessageBufferPacker out, CacheChange.Stored stored)
      throws IOException {
    String adapter = stored.origin().adapter();
    if (adapter == null) {
      out.packNil();
    } else {
      out.packInt(1 + (adapter.hashCode() & 0xffff));
    }
  }

  private static void adapterName(MessageBufferPacker out, CacheChange.Stored stored)
      throws IOException {
    String adapter = stored.origin().adapter();
    if (adapter == null) {
      out.packNil();
    } else {
      out.packString(adapter);
    }
  }

  /** The adapter in each block, the salt in the first of a prompt. */
  private static void extras(MessageBufferPacker out, CacheChange.Stored stored)
      throws IOException {
    String adapter = stored.origin().adapter();
    String salt = stored.origin().cacheSalt();
    out.packArrayHeader(stored.to() - stored.from());
    for (int block = stored.from(); block < stored.to(); block++) {
      boolean salted = block == 0 && !salt.isEmpty();
      int keys = (adapter == null ? 0 : 1) + (salted ? 1 : 0);
      if (keys == 0) {
        out.packNil();
        continue;
      }
      out.packArrayHeader(keys);
      if (adapter != null) {
        out.packString(adapter);
      }
      if (salted) {
        out.packString(salt);
      }
    }
  }

  private void removed(MessageBufferPacker out, long hash) throws IOException {
    switch (format) {
      case VLLM -> out.packArrayHeader(3).packString("BlockRemoved").packArrayHeader(1);
      case VLLM_MAP -> {
        out.packMapHeader(3).packString("type").packString("BlockRemoved");
        out.packString("block_hashes").packArrayHeader(1);
      }
      case SGLANG -> out.packArrayHeader(2).packString("BlockRemoved").packArrayHeader(1);
    }
    hash(out, hash);
    switch (format) {
      case VLLM -> out.packString("GPU");
      case VLLM_MAP -> out.packString("medium").packString("GPU");
      case SGLANG -> {}
    }
  }

  private void cleared(MessageBufferPacker out) throws IOException {
    if (format == EventFormat.VLLM_MAP) {
      out.packMapHeader(1).packString("type").packString("AllBlocksCleared");
    } else {
      out.packArrayHeader(1).packString("AllBlocksCleared");
    }
  }

  private void hash(MessageBufferPacker out, long hash) throws IOException {
    if (format == EventFormat.VLLM) {
      byte[] digest =
          ByteBuffer.allocate(HASH_BYTES).putLong(HASH_BYTES - Long.BYTES, hash).array();
      out.packBinaryHeader(HASH_BYTES).writePayload(digest);
    } else if (format == EventFormat.VLLM_MAP && hash < 0) {
      // vLLM's numbers have no sign; SGLang's have one.
      out.packBigInteger(new BigInteger(Long.toUnsignedString(hash)));
    } else {
      out.packLong(hash);
    }
  }
}
