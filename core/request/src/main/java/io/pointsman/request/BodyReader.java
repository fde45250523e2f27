package io.pointsman.request;

import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.request.handover.HandoverFields;
import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.JsonText;
import io.pointsman.request.json.StringScanner;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reader of JSON bodies. It reads each body in one pass and keeps the results until the next call
 * of {@link #read}. One thread.
 */
final class BodyReader {
  private static final int MAX_NAME = 1024;
  private static final byte[] NOTHING = {};

  private final JsonCursor json = new JsonCursor(StringScanner.best());
  private final PromptReader prompt = new PromptReader(json);
  private final FurtherModels further = new FurtherModels();
  private final BodyIdentity identity;

  private byte[] body = NOTHING;
  private int offset;
  private Span model = Span.NONE;
  private Span stream = Span.NONE;
  private Span response = Span.NONE;
  private Span background = Span.NONE;

  /** True if the body may have members of hand-overs. */
  private boolean handover;

  /** Bytes of the last decoded model name. Most requests name one of a few models. */
  private byte[] lastName = {};

  private String lastDecoded = "";
  private long lastHash = JsonText.hash("");

  /**
   * @param sessionField the only field that names a session; empty if all known fields count
   */
  BodyReader(String sessionField) {
    identity = new BodyIdentity(json, sessionField);
  }

  BodyVerdict read(KeyFields keyFields, byte[] body, int offset, int length, boolean truncated) {
    this.body = body;
    this.offset = offset;
    model = Span.NONE;
    stream = Span.NONE;
    response = Span.NONE;
    background = Span.NONE;
    prompt.reset();
    identity.reset();
    further.reset();
    handover = false;
    json.reset(body, offset, offset + length);
    int first = json.peek();
    if (first == '{') {
      members(keyFields);
    } else if (first != JsonCursor.END) {
      json.value();
    }
    json.finish();
    BodyVerdict verdict = verdict(first, truncated).naming(further.names());
    return handover ? verdict.withHandover() : verdict;
  }

  /** Drops the references to the body. */
  void release() {
    json.release();
    further.release();
    body = NOTHING;
  }

  /** The model; null if the field is absent, empty or not a string. A name is cut after 1 KiB. */
  @Nullable String model() {
    if (!string(model)) {
      return null;
    }
    int from = offset + model.offset() + 1;
    int to = end(model);
    if (!Arrays.equals(body, from, to, lastName, 0, lastName.length)) {
      lastName = Arrays.copyOfRange(body, from, to);
      lastDecoded = JsonText.decode(body, from, to);
      lastHash = JsonText.hash(lastDecoded);
    }
    return lastDecoded;
  }

  boolean stream() {
    return isTrue(stream);
  }

  boolean background() {
    return isTrue(background);
  }

  private boolean isTrue(Span value) {
    int from = offset + value.offset();
    return value.present() && JsonText.isTrue(body, from, from + value.length());
  }

  /** The id of the previous response; null as for the model. It is never cut. */
  @Nullable String responseId() {
    int from = offset + response.offset();
    return string(response) ? JsonText.decode(body, from + 1, from + response.length() - 1) : null;
  }

  Span modelSpan() {
    return model;
  }

  Span streamSpan() {
    return stream;
  }

  PrefixBlocks prefix() {
    String name = model();
    return prefix(name == null ? 0 : lastHash);
  }

  /** The routing key with {@code salt} in place of the model's hash. */
  PrefixBlocks prefix(long salt) {
    return prompt.key(salt);
  }

  @Nullable AffinityKey identity() {
    return identity.first(body, offset);
  }

  private void members(KeyFields keyFields) {
    for (boolean more = json.firstMember(); more; more = json.nextMember()) {
      Field field = Field.at(json);
      boolean outer = HandoverFields.outer(json.keyHash());
      handover |= HandoverFields.top(json.keyHash());
      if (FurtherModels.concerns(json, field)) {
        boolean options = field == null && FurtherModels.options(json);
        int from = valueFrom();
        member(field, keyFields);
        int to = offset + json.position();
        further.read(body, from, to, options);
        handover |= outer && HandoverFields.mayLieIn(body, from, to);
      } else if (outer) {
        int from = valueFrom();
        member(field, keyFields);
        handover |= HandoverFields.mayLieIn(body, from, offset + json.position());
      } else {
        member(field, keyFields);
      }
    }
  }

  /** Index of the value of the last key. */
  private int valueFrom() {
    json.peek();
    return offset + json.position();
  }

  private void member(@Nullable Field field, KeyFields keyFields) {
    if (field == null) {
      identity.readUnknown();
      return;
    }
    switch (field.use()) {
      case FACT -> fact(field);
      case IDENTITY -> identity.read(field);
      case ITEMS, PARTS, TREES, SWITCH, SALT -> {
        if (keyFields.has(field)) {
          prompt.read(field);
        } else {
          json.value();
        }
      }
    }
  }

  private void fact(Field field) {
    json.peek();
    int from = json.position();
    json.value();
    Span span = json.problem() == null ? new Span(from, json.position() - from) : Span.NONE;
    if (field == Field.MODEL) {
      model = span;
    } else if (field == Field.STREAM) {
      stream = span;
    } else if (field == Field.BACKGROUND) {
      background = span;
    } else {
      response = span;
    }
  }

  private BodyVerdict verdict(int first, boolean truncated) {
    String problem = json.problem();
    if (truncated && (problem == null || json.endsEarly())) {
      return BodyVerdict.TRUNCATED;
    }
    if (first == JsonCursor.END) {
      return BodyVerdict.EMPTY;
    }
    if (problem != null) {
      return new BodyVerdict(BodyVerdict.Kind.MALFORMED, problem, json.problemAt());
    }
    return first == '{' ? BodyVerdict.OBJECT : BodyVerdict.NOT_OBJECT;
  }

  /** True if the value is a string with at least one character. */
  private boolean string(Span span) {
    return span.length() > 2 && body[offset + span.offset()] == '"';
  }

  /** End of a string's content. A content longer than 1 KiB ends there, since no name is longer. */
  private int end(Span span) {
    return offset + span.offset() + Math.min(span.length() - 1, 1 + MAX_NAME);
  }
}
