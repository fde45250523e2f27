package io.pointsman.pd.protocol;

import io.pointsman.request.splice.RawJson;
import org.jspecify.annotations.Nullable;

/** Builder of a small JSON object; the members keep the order of the calls. */
final class Params {
  private final StringBuilder text = new StringBuilder("{");

  Params with(String name, RawJson value) {
    if (text.length() > 1) {
      text.append(',');
    }
    text.append(RawJson.string(name)).append(':').append(value);
    return this;
  }

  Params with(String name, boolean value) {
    return with(name, value ? RawJson.TRUE : RawJson.FALSE);
  }

  Params with(String name, String value) {
    return with(name, RawJson.string(value));
  }

  Params with(String name, long value) {
    return with(name, RawJson.of(value));
  }

  Params withNull(String name) {
    return with(name, RawJson.NULL);
  }

  /** Omits the member if there is no value. */
  Params withIfKnown(String name, @Nullable RawJson value) {
    return value == null ? this : with(name, value);
  }

  RawJson json() {
    return RawJson.of(text + "}");
  }
}
