package io.pointsman.control.kvevents.wire;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/** Encodes lists, maps, texts, bytes, numbers and nil as MessagePack. */
public final class Msgpack {
  private Msgpack() {}

  public static byte[] pack(@Nullable Object value) {
    try (MessageBufferPacker out = MessagePack.newDefaultBufferPacker()) {
      add(out, value);
      return out.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A list that may contain nil. */
  public static List<@Nullable Object> list(@Nullable Object... items) {
    return Arrays.asList(items);
  }

  private static void add(MessageBufferPacker out, @Nullable Object value) throws IOException {
    switch (value) {
      case null -> out.packNil();
      case String text -> out.packString(text);
      case byte[] bytes -> out.packBinaryHeader(bytes.length).writePayload(bytes);
      case Integer number -> out.packInt(number);
      case Long number -> out.packLong(number);
      case BigInteger number -> out.packBigInteger(number);
      case Double number -> out.packDouble(number);
      case Boolean flag -> out.packBoolean(flag);
      case int[] numbers -> {
        out.packArrayHeader(numbers.length);
        for (int number : numbers) {
          out.packInt(number);
        }
      }
      case List<?> list -> {
        out.packArrayHeader(list.size());
        for (Object item : list) {
          add(out, item);
        }
      }
      case Map<?, ?> map -> {
        out.packMapHeader(map.size());
        for (Map.Entry<?, ?> entry : map.entrySet()) {
          add(out, entry.getKey());
          add(out, entry.getValue());
        }
      }
      default -> throw new IllegalArgumentException(value.getClass().getName());
    }
  }
}
