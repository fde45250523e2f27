package io.pointsman.testkit.fuzz;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Mutates inputs: changes bytes, and drops, repeats, moves or inserts runs, also from other inputs.
 * Independent of the format; the results depend only on the random numbers.
 */
final class Mutator {
  private static final int MAX_LENGTH = 8192;
  private static final byte[] TELLING =
      "\"\\{}[],:;=-+.0123456789eE\r\n\t #&*!|>'%@`~\0\u00FF\u00C3\u0080"
          .getBytes(StandardCharsets.ISO_8859_1);

  private final List<byte[]> inputs;
  private final SplittableRandom random;

  Mutator(List<byte[]> inputs, SplittableRandom random) {
    this.inputs = inputs;
    this.random = random;
  }

  /** One of the inputs with one to six changes. */
  byte[] next() {
    byte[] input = any();
    for (int changes = 1 + random.nextInt(6); changes > 0; changes--) {
      input = change(input);
    }
    return input;
  }

  private byte[] any() {
    return inputs.get(random.nextInt(inputs.size()));
  }

  private byte[] change(byte[] input) {
    int at = random.nextInt(input.length + 1);
    int run = Math.min(input.length - at, 1 + random.nextInt(1 << random.nextInt(1, 7)));
    return switch (random.nextInt(6)) {
      case 0 -> join(input, at, at + run, new byte[0]);
      case 1 -> join(input, at, Math.min(at + 1, input.length), telling());
      case 2 -> join(input, at, at, telling());
      case 3 -> join(input, at, at, slice(input, at, run));
      case 4 -> join(input, at, at + run, piece(any()));
      default -> join(input, at, Math.min(at + 1, input.length), new byte[] {flipped(input, at)});
    };
  }

  private byte[] telling() {
    return new byte[] {TELLING[random.nextInt(TELLING.length)]};
  }

  private byte flipped(byte[] input, int at) {
    byte old = at < input.length ? input[at] : 0;
    return (byte) (old ^ 1 << random.nextInt(8));
  }

  private byte[] piece(byte[] other) {
    int from = random.nextInt(other.length + 1);
    return slice(other, from, random.nextInt(other.length - from + 1));
  }

  private static byte[] slice(byte[] input, int from, int length) {
    return Arrays.copyOfRange(input, from, from + length);
  }

  /** {@code input} with the bytes between {@code from} and {@code to} replaced. */
  private static byte[] join(byte[] input, int from, int to, byte[] between) {
    ByteArrayOutputStream out = new ByteArrayOutputStream(input.length + between.length);
    out.write(input, 0, from);
    out.writeBytes(between);
    out.write(input, to, input.length - to);
    byte[] joined = out.toByteArray();
    return joined.length <= MAX_LENGTH ? joined : slice(joined, 0, MAX_LENGTH);
  }
}
