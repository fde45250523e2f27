package io.pointsman.request;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.JsonText;
import io.pointsman.request.json.StringScanner;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Models that a JSON body names beside the field {@code model}: adapters, and names that a decoder
 * takes for {@code model} because it ignores case (Go). An engine may serve these instead. One
 * thread.
 */
final class FurtherModels {
  private static final String MODEL = "model";
  private static final int MAX_NAME = 1024;

  /** Maximum number of models; the last of more is the empty name, which nobody may use. */
  private static final int MOST = 16;

  private static final Set<Field> ADAPTERS =
      EnumSet.of(
          Field.LORA_NAME,
          Field.LORA_PATH,
          Field.LORA_ID,
          Field.LORA_REQUEST,
          Field.ADAPTER,
          Field.ADAPTER_ID,
          Field.ADAPTER_NAME);

  /** Hashes of names that are no {@link Field}. */
  private static final long[] NAMES =
      hashes(
          Stream.concat(
              Stream.of("lora", "loras", "adapters", "adapter_path", "adapter_source"),
              IntStream.range(1, 1 << MODEL.length()).mapToObj(FurtherModels::spelled)));

  /** Hashes of objects with options. Their members can be adapters. */
  private static final long[] OPTIONS =
      hashes(Stream.of("sampling_params", "parameters", "options", "extra_body"));

  private final Set<String> found = new LinkedHashSet<>();

  /** Reads objects of options; null before the first one. */
  private @Nullable JsonCursor inner;

  private static long[] hashes(Stream<String> names) {
    LongStream each = names.mapToLong(JsonText::hash);
    return each.sorted().toArray();
  }

  /** The name {@code model} with the letters of {@code upper} in upper case. */
  private static String spelled(int upper) {
    StringBuilder name = new StringBuilder(MODEL);
    for (int i = 0; i < name.length(); i++) {
      if (((upper >> i) & 1) != 0) {
        name.setCharAt(i, Character.toUpperCase(name.charAt(i)));
      }
    }
    return name.toString();
  }

  void reset() {
    if (!found.isEmpty()) {
      found.clear();
    }
  }

  /** Drops the references to the body. */
  void release() {
    if (inner != null) {
      inner.release();
    }
  }

  /** The models; empty for most bodies. */
  Set<String> names() {
    return found.isEmpty() ? Set.of() : Set.copyOf(found);
  }

  /** True if the last key of {@code json} names a model, or an object that may name one. */
  static boolean concerns(JsonCursor json, @Nullable Field field) {
    return field == null
        ? contains(NAMES, json.keyHash()) || contains(OPTIONS, json.keyHash())
        : ADAPTERS.contains(field);
  }

  /** Reads the value of a key that {@link #concerns}. */
  void read(byte[] body, int from, int to, boolean options) {
    if (options) {
      readOptions(body, from, to);
    } else {
      add(body, from, to);
    }
  }

  /** True if the last key of {@code json} is an object of options. */
  static boolean options(JsonCursor json) {
    return contains(OPTIONS, json.keyHash());
  }

  private static boolean contains(long[] sorted, long hash) {
    return Arrays.binarySearch(sorted, hash) >= 0;
  }

  /** Reads the members of an object, or of each object in a list. */
  private void readOptions(byte[] body, int from, int to) {
    JsonCursor json = inner;
    if (json == null) {
      json = new JsonCursor(StringScanner.best());
      inner = json;
    }
    json.reset(body, from, to);
    if (json.peek() == '[') {
      for (boolean more = json.firstElement(); more; more = json.nextElement()) {
        readMembers(json, body, from);
      }
    } else {
      readMembers(json, body, from);
    }
  }

  private void readMembers(JsonCursor json, byte[] body, int start) {
    if (json.peek() != '{') {
      json.value();
      return;
    }
    for (boolean more = json.firstMember(); more; more = json.nextMember()) {
      boolean named = concerns(json, Field.at(json)) && !options(json);
      json.peek();
      int from = start + json.position();
      json.value();
      if (named) {
        add(body, from, start + json.position());
      }
    }
  }

  /** Adds the model of a value. A value that is no text has the empty name; null names none. */
  private void add(byte[] body, int from, int to) {
    boolean text = to - from >= 2 && body[from] == '"' && to - from <= MAX_NAME;
    boolean none = to - from == 4 && body[from] == 'n';
    if (!none) {
      found.add(text && found.size() < MOST ? JsonText.decode(body, from + 1, to - 1) : "");
    }
  }
}
