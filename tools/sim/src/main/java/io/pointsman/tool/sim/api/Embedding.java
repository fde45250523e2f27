package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.pointsman.tool.sim.cache.BlockHashes;
import io.pointsman.tool.sim.http.SimJson;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;

/** A unit vector that depends only on the tokens. */
final class Embedding {
  private final float[] values;
  private final double probability;

  private Embedding(float[] values, double probability) {
    this.values = values;
    this.probability = probability;
  }

  static Embedding of(int[] ids, int dimensions) {
    long seed = BlockHashes.of(ids, ids.length, 0)[0];
    double[] raw = new double[dimensions];
    double norm = 0;
    for (int i = 0; i < dimensions; i++) {
      raw[i] = unit(BlockHashes.mix(seed + i)) * 2 - 1;
      norm += raw[i] * raw[i];
    }
    float[] values = new float[dimensions];
    for (int i = 0; i < dimensions; i++) {
      values[i] = (float) (raw[i] / Math.sqrt(norm));
    }
    return new Embedding(values, unit(seed));
  }

  /** A number from 0 to 1. */
  double probability() {
    return probability;
  }

  JsonNode floats() {
    ArrayNode array = SimJson.array();
    for (float value : values) {
      array.add(value);
    }
    return array;
  }

  /** Little-endian 32-bit floats, as the official clients request. */
  JsonNode base64() {
    ByteBuffer bytes = ByteBuffer.allocate(values.length * 4).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      bytes.putFloat(value);
    }
    return TextNode.valueOf(Base64.getEncoder().encodeToString(bytes.array()));
  }

  private static double unit(long bits) {
    return (bits >>> 11) * 0x1.0p-53;
  }
}
