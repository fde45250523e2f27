package io.pointsman.engine.choice;

import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The entries for leases, in blocks that are made when they are needed. A block stays, with 4 bytes
 * for each entry. Any thread.
 */
final class LeaseEntries {
  /** Number of entries in the largest ring. */
  static final int MOST = 2 * ExternalLeaseSettings.MOST_LEASES;

  private static final int BLOCK_BITS = 10;
  private static final int BLOCK = 1 << BLOCK_BITS;

  private final AtomicReferenceArray<@Nullable AtomicReferenceArray<@Nullable ExternalLease>>
      blocks = new AtomicReferenceArray<>(MOST >> BLOCK_BITS);

  /** The lease in an entry; null if there is none, or no such entry. */
  @Nullable ExternalLease get(int entry) {
    if (entry >= MOST) {
      return null;
    }
    AtomicReferenceArray<@Nullable ExternalLease> block = blocks.get(entry >> BLOCK_BITS);
    return block == null ? null : block.get(entry & (BLOCK - 1));
  }

  /** Replaces the lease in an entry. False if it is another one than {@code before}. */
  boolean compareAndSet(int entry, @Nullable ExternalLease before, @Nullable ExternalLease next) {
    return block(entry >> BLOCK_BITS).compareAndSet(entry & (BLOCK - 1), before, next);
  }

  private AtomicReferenceArray<@Nullable ExternalLease> block(int index) {
    AtomicReferenceArray<@Nullable ExternalLease> present = blocks.get(index);
    if (present != null) {
      return present;
    }
    AtomicReferenceArray<@Nullable ExternalLease> made = new AtomicReferenceArray<>(BLOCK);
    AtomicReferenceArray<@Nullable ExternalLease> other =
        blocks.compareAndExchange(index, null, made);
    return other == null ? made : other;
  }

  /** The entry after this one, without those of blocks that are not made. */
  int after(int entry) {
    int next = entry + 1;
    while (next < MOST && (next & (BLOCK - 1)) == 0 && blocks.get(next >> BLOCK_BITS) == null) {
      next += BLOCK;
    }
    return next;
  }
}
