package io.pointsman.request.splice;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Body editor for tests. It edits each text at an odd offset of a larger array. */
public final class Edits {
  private static final BodyEditor EDITOR = new BodyEditor();
  private static final int OFFSET = 3;

  private Edits() {}

  public static String edited(String body, BodyEdit... edits) {
    return edited(body, List.of(edits));
  }

  public static synchronized String edited(String body, List<BodyEdit> edits) {
    byte[] padded = padded(body);
    Splice splice = requireNonNull(splice(padded, edits), "splice");
    byte[] bytes = splice.toBytes(padded, OFFSET);
    if (bytes.length != splice.length()) {
      throw new AssertionError("length: " + splice.length() + " of " + bytes.length);
    }
    return new String(bytes, UTF_8);
  }

  static @Nullable Splice splice(String body, BodyEdit... edits) {
    return splice(padded(body), List.of(edits));
  }

  private static synchronized @Nullable Splice splice(byte[] padded, List<BodyEdit> edits) {
    return EDITOR.edit(padded, OFFSET, padded.length - OFFSET - 2, edits);
  }

  private static byte[] padded(String body) {
    byte[] bytes = body.getBytes(UTF_8);
    byte[] padded = new byte[bytes.length + OFFSET + 2];
    Arrays.fill(padded, (byte) '"');
    System.arraycopy(bytes, 0, padded, OFFSET, bytes.length);
    return padded;
  }
}
