package io.pointsman.request.json;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Each scanner compared with a reference that reads byte by byte. */
class StringScannerProperties {
  private record Scan(int end, List<Long> hashes) {}

  @Property(tries = 3000)
  void scannersAgreeWithTheReferenceOnAnyMixOfQuotesAndBackslashes(
      @ForAll long seed,
      @ForAll @IntRange(max = 5000) int length,
      @ForAll @IntRange(max = 70) int from,
      @ForAll @IntRange(max = 100) int special) {
    byte[] bytes = new byte[from + length];
    Random random = new Random(seed);
    random.nextBytes(bytes);
    for (int i = from; i < bytes.length; i++) {
      int rolled = random.nextInt(100);
      if (rolled < special) {
        bytes[i] = (byte) (rolled % 8 == 0 ? '"' : '\\');
      } else if (bytes[i] == '"') {
        bytes[i] = '!';
      }
    }
    assertSame(bytes, from, bytes.length);
    assertSame(bytes, from, from + length / 2);
  }

  @Example
  void everyRunOfBackslashesAtEveryPlaceOfABlockIsRead() {
    for (int start = 0; start < 130; start++) {
      for (int run = 0; run < 140; run += run < 6 ? 1 : 13) {
        String text = "a".repeat(start) + "\\".repeat(run) + "\"" + "b".repeat(70) + "\"\"";
        byte[] bytes = ("\"" + text + "c".repeat(64)).getBytes(ISO_8859_1);
        assertSame(bytes, 1, bytes.length);
      }
    }
  }

  @Example
  void theEndIsFoundAtEveryPlaceOfALongString() {
    for (int length = 960; length < 2200; length++) {
      byte[] bytes = new byte[length + 200];
      Arrays.fill(bytes, (byte) 'a');
      bytes[length] = '"';
      assertSame(bytes, 3, bytes.length);
      bytes[length / 2] = '\\';
      bytes[length / 2 + 1] = '"';
      assertSame(bytes, 3, bytes.length);
    }
  }

  @Example
  void bytesNextToTheCodeOfAQuoteAreNoQuotes() {
    for (int b = 0; b < 256; b++) {
      byte[] bytes = new byte[200];
      Arrays.fill(bytes, (byte) b);
      bytes[150] = '"';
      assertSame(bytes, 0, bytes.length);
    }
  }

  private static void assertSame(byte[] bytes, int from, int limit) {
    Scan expected = reference(bytes, from, limit);
    for (StringScanner scanner : StringScanners.all()) {
      BlockRun out = new BlockRun();
      int end = scanner.scan(bytes, from, limit, out);
      assertThat(new Scan(end, hashes(out))).isEqualTo(expected);
      if (end > from) {
        assertThat(out.lastLength()).isEqualTo(1 + (end - from - 1) % BlockHash.BLOCK);
      }
    }
  }

  private static List<Long> hashes(BlockRun run) {
    long[] hashes = new long[run.count()];
    run.copyTo(0, hashes, 0, hashes.length);
    return Arrays.stream(hashes).boxed().toList();
  }

  private static Scan reference(byte[] bytes, int from, int limit) {
    int end = from;
    while (end < limit && bytes[end] != '"') {
      end += bytes[end] == '\\' ? 2 : 1;
    }
    boolean closed = end < limit;
    int hashed = closed ? end : limit;
    List<Long> hashes = new ArrayList<>();
    int at = from;
    for (; at + BlockHash.BLOCK <= hashed; at += BlockHash.BLOCK) {
      hashes.add(BlockHash.block(bytes, at));
    }
    if (closed && at < end) {
      hashes.add(BlockHash.tail(Arrays.copyOf(bytes, end), at, end - at));
    }
    return new Scan(closed ? end : -1, hashes);
  }
}
