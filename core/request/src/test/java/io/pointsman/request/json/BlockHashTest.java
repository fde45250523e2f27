package io.pointsman.request.json;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class BlockHashTest {
  @Test
  void runsOfOneByteDifferByLength() {
    for (byte b : new byte[] {0, 'a', -1}) {
      Set<Long> hashes = new HashSet<>();
      byte[] bytes = new byte[200];
      Arrays.fill(bytes, b);
      for (int length = 0; length <= 200; length++) {
        hashes.add(BlockHash.of(bytes, 0, length));
      }
      assertThat(hashes).hasSize(201);
    }
  }

  @Test
  void everyBitChangesTheHash() {
    byte[] bytes = new byte[150];
    new Random(5).nextBytes(bytes);
    Set<Long> hashes = new HashSet<>();
    for (int bit = 0; bit < 8 * bytes.length; bit++) {
      bytes[bit / 8] ^= (byte) (1 << (bit % 8));
      hashes.add(BlockHash.of(bytes, 0, bytes.length));
      bytes[bit / 8] ^= (byte) (1 << (bit % 8));
    }
    assertThat(hashes).hasSize(8 * bytes.length);
  }

  @Test
  void theHashDoesNotDependOnThePlaceInTheArray() {
    byte[] bytes = new byte[300];
    new Random(6).nextBytes(bytes);
    for (int length = 1; length < 140; length++) {
      long hash = BlockHash.of(Arrays.copyOf(bytes, length), 0, length);
      for (int at = 0; at < 20; at++) {
        byte[] moved = new byte[at + length + at % 9];
        Arrays.fill(moved, (byte) 'z');
        System.arraycopy(bytes, 0, moved, at, length);
        assertThat(BlockHash.of(moved, at, at + length)).isEqualTo(hash);
        if (length < BlockHash.BLOCK) {
          assertThat(BlockHash.ofShort(moved, at, at + length)).isEqualTo(hash);
        }
      }
    }
  }
}
