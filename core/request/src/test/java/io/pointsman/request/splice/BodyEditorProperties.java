package io.pointsman.request.splice;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.request.JsonTexts;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** An edit of the bytes has the result of the same edit of a tree. */
class BodyEditorProperties {
  private static final List<String> NAMES =
      List.of("model", "stream", "user", "session_params", "prompt", "max_tokens");

  @Provide
  Arbitrary<ObjectNode> bodies() {
    return JsonTexts.bodies();
  }

  @Provide
  Arbitrary<List<BodyEdit>> edits() {
    Arbitrary<List<String>> paths =
        Arbitraries.oneOf(
            Arbitraries.of(NAMES).map(List::of),
            Combinators.combine(Arbitraries.of(NAMES), Arbitraries.of(NAMES)).as(List::of));
    Arbitrary<RawJson> values =
        Arbitraries.of("1", "null", "\"x\"", "{}", "[ 2 ]", "{\"user\":{\"model\":0}}")
            .map(RawJson::of);
    Arbitrary<BodyEdit> edit =
        Combinators.combine(paths, values, Arbitraries.integers().between(0, 2))
            .as(
                (path, value, kind) ->
                    switch (kind) {
                      case 0 -> new BodyEdit.Put(path, value, List.of());
                      case 1 -> new BodyEdit.Replace(path, value);
                      default -> new BodyEdit.Remove(path);
                    });
    return edit.list().ofMaxSize(6);
  }

  @Property(tries = 200)
  void editingBytesIsEditingTheTree(
      @ForAll("bodies") ObjectNode body, @ForAll("edits") List<BodyEdit> edits, @ForAll long seed)
      throws Exception {
    String text = JsonTexts.write(body, new Random(seed));
    JsonNode expected = JsonTexts.MAPPER.readTree(text);
    edits.forEach(edit -> apply((ObjectNode) expected, edit));

    assertThat(JsonTexts.MAPPER.readTree(Edits.edited(text, edits))).isEqualTo(expected);
  }

  @Property(tries = 100)
  void membersThatNoEditNamesKeepTheirBytes(
      @ForAll("bodies") ObjectNode body, @ForAll("edits") List<BodyEdit> edits, @ForAll long seed) {
    String text = JsonTexts.write(body, new Random(seed));
    byte[] before = text.getBytes(UTF_8);
    byte[] after = Edits.edited(text, edits).getBytes(UTF_8);
    body.fieldNames()
        .forEachRemaining(
            name -> {
              if (edits.stream().noneMatch(edit -> edit.path().getFirst().equals(name))) {
                assertThat(raw(after, name)).isEqualTo(raw(before, name)).isNotNull();
              }
            });
  }

  private static RawJson raw(byte[] body, String name) {
    JsonMembers members = MembersReading.read(body);
    for (int i = 0; i < members.count(); i++) {
      if (members.name(i).equals(name)) {
        return RawJson.copyOf(body, members.valueFrom(i), members.valueTo(i));
      }
    }
    throw new AssertionError("no member " + name);
  }

  private static void apply(ObjectNode target, BodyEdit edit) {
    ObjectNode parent = target;
    if (edit.path().size() > 1) {
      String name = edit.path().getFirst();
      JsonNode found = parent.get(name);
      boolean absent = found == null || found.isNull();
      if (absent && edit instanceof BodyEdit.Put) {
        found = parent.putObject(name);
      }
      if (found instanceof ObjectNode object) {
        parent = object;
      } else {
        return;
      }
    }
    String name = edit.path().getLast();
    switch (edit) {
      case BodyEdit.Put put -> parent.set(name, tree(put.value()));
      case BodyEdit.Replace replace -> {
        if (parent.has(name)) {
          parent.set(name, tree(replace.value()));
        }
      }
      case BodyEdit.Remove _ -> parent.remove(name);
      case BodyEdit.Add _, BodyEdit.Extend _ -> throw new AssertionError(edit);
    }
  }

  private static JsonNode tree(RawJson value) {
    try {
      return JsonTexts.MAPPER.readTree(value.toString());
    } catch (java.io.IOException e) {
      throw new AssertionError(e);
    }
  }
}
