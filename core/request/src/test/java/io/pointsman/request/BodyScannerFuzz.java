package io.pointsman.request;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.request.BodyVerdict.Kind;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Fuzz target that reads any bytes as the body of a request and compares with Jackson. The first
 * byte selects the route. Properties: the verdict on the structure and the facts of an object equal
 * Jackson's. White space and the bytes around the body do not matter. A part of a valid body is
 * never malformed if it is read as a part.
 */
public final class BodyScannerFuzz {
  private static final List<Endpoint> ROUTES =
      List.of(
          Endpoint.CHAT_COMPLETIONS,
          Endpoint.COMPLETIONS,
          Endpoint.RESPONSES,
          Endpoint.RERANK,
          Endpoint.GENERATE,
          Endpoint.TOKENIZE,
          Endpoint.TRANSPARENT);
  private static final TestHeaders FORM =
      TestHeaders.of("content-type", "multipart/form-data; boundary=b");

  /** Longer strings are replaced by their hash, or cut. */
  private static final int COMPARED = 1024;

  private BodyScannerFuzz() {}

  /** Runs one input. Throws if a property is violated. */
  public static void fuzzerTestOneInput(byte[] input) {
    if (input.length == 0) {
      return;
    }
    byte[] body = Arrays.copyOfRange(input, 1, input.length);
    if (input[0] == 'F') {
      form(body);
    } else {
      json(ROUTES.get((input[0] & 0xFF) % ROUTES.size()), body);
    }
  }

  private static void json(Endpoint route, byte[] body) {
    RequestFacts facts = read(route, body, body.length, false);
    same("kind", facts.body().kind(), JsonReference.kind(body));
    RequestFacts other =
        new RequestReader(AffinitySettings.DEFAULT)
            .read(route, TestHeaders.NONE, body, 0, body.length, false);
    sameFacts(facts, other);
    if (facts.body().kind() == Kind.OBJECT) {
      byte[] respaced = JsonReference.respaced(body);
      sameFacts(facts, read(route, respaced, respaced.length, false));
      parts(route, body);
    }
    Map<?, ?> object = JsonReference.object(body);
    if (object != null) {
      compare(facts, object, body.length);
    }
  }

  private static void compare(RequestFacts facts, Map<?, ?> object, int size) {
    same("kind", facts.body().kind(), Kind.OBJECT);
    same("stream", facts.stream(), JsonReference.isTrue(object, "stream"));
    same("response", facts.responseId(), JsonReference.text(object, "previous_response_id"));
    if (size <= COMPARED) {
      same("model", facts.model(), JsonReference.text(object, "model"));
      if (JsonReference.namesAffinity(object)) {
        same("affinity", facts.affinity(), JsonReference.affinity(object));
      }
    }
  }

  private static void parts(Endpoint route, byte[] body) {
    // Starts at three bytes, because half a byte order mark is no mark.
    for (int length = 3; length < body.length; length += 1 + body.length / 8) {
      same("part", read(route, body, length, true).body().kind(), Kind.TRUNCATED);
    }
  }

  private static RequestFacts read(Endpoint route, byte[] body, int length, boolean truncated) {
    return Reading.read(route, TestHeaders.NONE, Arrays.copyOf(body, length), truncated);
  }

  private static void sameFacts(RequestFacts one, RequestFacts other) {
    same("kind", one.body().kind(), other.body().kind());
    same("model", one.model(), other.model());
    same("stream", one.stream(), other.stream());
    same("affinity", one.affinity(), other.affinity());
    same("response", one.responseId(), other.responseId());
    PrefixBlocks key = one.prefix();
    same("key", Arrays.hashCode(Reading.blocks(one)), Arrays.hashCode(Reading.blocks(other)));
    same("length", key.length(), other.prefix().length());
    same("tokens", key.tokens(), other.prefix().tokens());
  }

  private static void form(byte[] body) {
    RequestFacts facts = Reading.read(Endpoint.AUDIO_TRANSCRIPTIONS, FORM, body, false);
    same("kind", facts.body().kind(), body.length == 0 ? Kind.EMPTY : Kind.FORM);
    String model = facts.model();
    if (model != null && model.length() > body.length) {
      throw new AssertionError("model: " + model + " (expected: a part of the body)");
    }
  }

  private static void same(String what, @Nullable Object one, @Nullable Object other) {
    if (!Objects.equals(one, other)) {
      throw new AssertionError(what + ": " + one + " (expected: " + other + ")");
    }
  }
}
