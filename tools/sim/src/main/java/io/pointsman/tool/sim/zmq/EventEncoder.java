package io.pointsman.tool.sim.zmq;

import io.pointsman.tool.sim.cache.BlockHashes;
import io.pointsman.tool.sim.cache.OffloadTier;
import io.pointsman.tool.sim.cache.PromptOrigin;
import io.pointsman.tool.sim.text.Media;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/** Encodes batches of KV events as engines do. */
final class EventEncoder {
  /** The length of a SHA-256 hash. */
  private static final int HASH_BYTES = 32;

  private final EventFormat format;
  private final int blockSize;
  private final int rank;
  private final String furtherMedium;

  /** The locality of the further tier, as vLLM reports it for storage; null if not reported. */
  private final @Nullable String furtherLocality;

  EventEncoder(EventOptions options, int blockSize) {
    format = options.format();
    this.blockSize = blockSize;
    rank = options.rank();
    EventOptions.Offloading further = options.offload();
    OffloadTier tier = further == null ? OffloadTier.HOST : further.tier();
    furtherMedium = medium(format, tier);
    furtherLocality = format == EventFormat.SGLANG ? null : locality(tier);
  }

  private static String medium(EventFormat format, OffloadTier tier) {
    boolean vllm = format != EventFormat.SGLANG;
    return switch (tier) {
      case HOST -> vllm ? "CPU" : "CPU_PINNED";
      case DISK -> vllm ? "STORAGE" : "DISK";
      case EXTERNAL -> vllm ? "STORAGE" : "EXTERNAL";
    };
  }

  private static @Nullable String locality(OffloadTier tier) {
    return switch (tier) {
      case HOST -> null;
      case DISK -> "LOCAL";
      case EXTERNAL -> "REMOTE";
    };
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
          case CacheChange.Offloaded offloaded -> offloaded(out, offloaded);
          case CacheChange.Dropped(long hash) -> dropped(out, hash);
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
          page(out, stored.origin(), stored.hashes(), block, null);
        }
      }
    }
  }

  private void array(MessageBufferPacker out, CacheChange.Stored stored) throws IOException {
    out.packArrayHeader(9).packString("BlockStored");
    hashes(out, stored);
    parent(out, stored.hashes(), stored.from());
    tokens(out, stored.origin(), stored.from(), stored.to());
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
    parent(out, stored.hashes(), stored.from());
    out.packString("token_ids");
    tokens(out, stored.origin(), stored.from(), stored.to());
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

  /** The device is named only if a salt follows it. */
  private void page(
      MessageBufferPacker out, PromptOrigin origin, long[] hashes, int block, @Nullable String tier)
      throws IOException {
    boolean salted = !origin.cacheSalt().isEmpty();
    out.packArrayHeader(salted ? 8 : tier == null ? 6 : 7).packString("BlockStored");
    out.packArrayHeader(1);
    hash(out, hashes[block]);
    parent(out, hashes, block);
    tokens(out, origin, block, block + 1);
    out.packInt(blockSize);
    out.packNil();
    if (salted || tier != null) {
      out.packString(tier == null ? "GPU" : tier);
    }
    if (salted) {
      out.packString(origin.cacheSalt());
    }
  }

  /** vLLM sends only the ids of blocks announced before; SGLang repeats all data. */
  private void offloaded(MessageBufferPacker out, CacheChange.Offloaded change) throws IOException {
    long[] hashes = change.hashes();
    int block = change.block();
    switch (format) {
      case VLLM -> {
        out.packArrayHeader(furtherLocality == null ? 9 : 13).packString("BlockStored");
        out.packArrayHeader(1);
        hash(out, hashes[block]);
        out.packNil().packArrayHeader(0).packInt(blockSize).packNil();
        out.packString(furtherMedium).packNil().packNil();
        if (furtherLocality != null) {
          out.packInt(0).packNil().packNil().packString(furtherLocality);
        }
      }
      case VLLM_MAP -> {
        out.packMapHeader(furtherLocality == null ? 6 : 7);
        out.packString("type").packString("BlockStored");
        out.packString("block_hashes").packArrayHeader(1);
        hash(out, hashes[block]);
        out.packString("parent_block_hash").packNil();
        out.packString("token_ids").packArrayHeader(0);
        out.packString("block_size").packInt(blockSize);
        out.packString("medium").packString(furtherMedium);
        if (furtherLocality != null) {
          out.packString("locality").packString(furtherLocality);
        }
      }
      case SGLANG -> page(out, change.origin(), hashes, block, furtherMedium);
    }
  }

  private void hashes(MessageBufferPacker out, CacheChange.Stored stored) throws IOException {
    out.packArrayHeader(stored.to() - stored.from());
    for (int block = stored.from(); block < stored.to(); block++) {
      hash(out, stored.hashes()[block]);
    }
  }

  private void parent(MessageBufferPacker out, long[] hashes, int block) throws IOException {
    if (block == 0) {
      out.packNil();
    } else {
      hash(out, hashes[block - 1]);
    }
  }

  private void tokens(MessageBufferPacker out, PromptOrigin origin, int from, int to)
      throws IOException {
    out.packArrayHeader((to - from) * blockSize);
    for (int i = from * blockSize; i < to * blockSize; i++) {
      int id = origin.tokens()[i];
      out.packInt(format == EventFormat.SGLANG ? id : Media.shown(id));
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

  /** Writes the adapter and the non-text parts of each block, and the salt in the first block. */
  private void extras(MessageBufferPacker out, CacheChange.Stored stored) throws IOException {
    PromptOrigin origin = stored.origin();
    String adapter = origin.adapter();
    out.packArrayHeader(stored.to() - stored.from());
    for (int block = stored.from(); block < stored.to(); block++) {
      boolean salted = block == 0 && !origin.cacheSalt().isEmpty();
      List<Integer> parts = parts(origin.tokens(), block);
      int keys = (adapter == null ? 0 : 1) + parts.size() + (salted ? 1 : 0);
      if (keys == 0) {
        out.packNil();
        continue;
      }
      out.packArrayHeader(keys);
      if (adapter != null) {
        out.packString(adapter);
      }
      for (int at : parts) {
        part(out, origin.tokens()[at], at - block * blockSize);
      }
      if (salted) {
        out.packString(origin.cacheSalt());
      }
    }
  }

  /** Indexes in a block at which parts that are not text begin or continue. */
  private List<Integer> parts(int[] tokens, int block) {
    List<Integer> parts = new ArrayList<>(0);
    for (int i = block * blockSize; i < (block + 1) * blockSize; i++) {
      boolean first = i == block * blockSize || Media.offset(tokens[i]) == 0;
      if (Media.is(tokens[i]) && first) {
        parts.add(i);
      }
    }
    return parts;
  }

  /** Writes the hash of a part; in maps also its start relative to the block. */
  private void part(MessageBufferPacker out, int id, int at) throws IOException {
    String hash = HexFormat.of().toHexDigits(BlockHashes.mix(Media.part(id)));
    if (format == EventFormat.VLLM_MAP) {
      out.packArrayHeader(2).packString(hash).packInt(at - Media.offset(id));
    } else {
      out.packString(hash);
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

  private void dropped(MessageBufferPacker out, long hash) throws IOException {
    boolean located = furtherLocality != null;
    switch (format) {
      case VLLM -> out.packArrayHeader(located ? 5 : 3).packString("BlockRemoved");
      case VLLM_MAP -> {
        out.packMapHeader(located ? 4 : 3).packString("type").packString("BlockRemoved");
        out.packString("block_hashes");
      }
      case SGLANG -> out.packArrayHeader(3).packString("BlockRemoved");
    }
    out.packArrayHeader(1);
    hash(out, hash);
    if (format == EventFormat.VLLM_MAP) {
      out.packString("medium");
    }
    out.packString(furtherMedium);
    if (furtherLocality != null) {
      switch (format) {
        case VLLM -> out.packInt(0);
        case VLLM_MAP -> out.packString("locality");
        case SGLANG -> {}
      }
      out.packString(furtherLocality);
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
      // vLLM's numbers are unsigned; SGLang's are signed.
      out.packBigInteger(new BigInteger(Long.toUnsignedString(hash)));
    } else {
      out.packLong(hash);
    }
  }
}
