package io.pointsman.request.splice;

import static io.pointsman.request.splice.BodyEdit.add;
import static io.pointsman.request.splice.BodyEdit.extend;
import static io.pointsman.request.splice.BodyEdit.put;
import static io.pointsman.request.splice.BodyEdit.remove;
import static io.pointsman.request.splice.BodyEdit.replace;
import static io.pointsman.request.splice.Edits.edited;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BodyEditorTest {
  private static final RawJson ONE = RawJson.of(1);

  @Test
  void anExistingMemberIsSetInPlace() {
    assertThat(edited("{\"a\":7,\"max_tokens\" : 200 ,\"b\":[ 1 ]}", put(ONE, "max_tokens")))
        .isEqualTo("{\"a\":7,\"max_tokens\" : 1 ,\"b\":[ 1 ]}");
  }

  @Test
  void aMissingMemberIsAddedAfterTheLast() {
    assertThat(edited("{\"a\":7 }", put(ONE, "max_tokens"), put(RawJson.FALSE, "stream")))
        .isEqualTo("{\"a\":7,\"max_tokens\":1,\"stream\":false }");
  }

  @Test
  void anEmptyObjectGetsItsFirstMemberWithoutAComma() {
    assertThat(edited(" { } ", put(ONE, "a"), put(ONE, "b"))).isEqualTo(" {\"a\":1,\"b\":1 } ");
  }

  @Test
  void everyDuplicateIsSet() {
    assertThat(edited("{\"n\":3,\"a\":0,\"n\":4}", put(ONE, "n")))
        .isEqualTo("{\"n\":1,\"a\":0,\"n\":1}");
  }

  @Test
  void everyDuplicateIsRemoved() {
    assertThat(edited("{\"n\":3,\"a\":0,\"n\":4}", remove("n"))).isEqualTo("{\"a\":0}");
  }

  @Test
  void namesWithEscapesAreRecognised() {
    assertThat(edited("{\"max\\u005ftokens\":9}", put(ONE, "max_tokens")))
        .isEqualTo("{\"max\\u005ftokens\":1}");
    assertThat(edited("{\"\\u006e\":9,\"m\":0}", remove("n"))).isEqualTo("{\"m\":0}");
  }

  @Test
  void namesThatOnlyLookAlikeAreLeftAlone() {
    String body =
        "{\"max_tokens_\":5,\"x\":{\"max_tokens\":6},\"y\":\"\\\"max_tokens\\\":7\",\"ma\\x\":0}";

    assertThat(edited(body, replace(ONE, "max_tokens"), remove("stream"))).isEqualTo(body);
  }

  @Test
  void aMemberIsRemovedWithOneComma() {
    String body = "{ \"a\" : 1 , \"b\" : 2 , \"c\" : 3 }";

    assertThat(edited(body, remove("a"))).isEqualTo("{ \"b\" : 2 , \"c\" : 3 }");
    assertThat(edited(body, remove("b"))).isEqualTo("{ \"a\" : 1 , \"c\" : 3 }");
    assertThat(edited(body, remove("c"))).isEqualTo("{ \"a\" : 1 , \"b\" : 2 }");
    assertThat(edited(body, remove("b"), remove("c"))).isEqualTo("{ \"a\" : 1 }");
    assertThat(edited(body, remove("a"), remove("c"))).isEqualTo("{ \"b\" : 2 }");
    assertThat(edited(body, remove("a"), remove("b"), remove("c"))).isEqualTo("{  }");
    assertThat(edited(body, remove("a"), remove("b"), remove("c"), put(ONE, "d")))
        .isEqualTo("{ \"d\":1 }");
    assertThat(edited(body, remove("c"), put(ONE, "d")))
        .isEqualTo("{ \"a\" : 1 , \"b\" : 2,\"d\":1 }");
  }

  @Test
  void editsApplyOneAfterTheOther() {
    assertThat(edited("{\"a\":0}", remove("a"), put(ONE, "a"))).isEqualTo("{\"a\":1}");
    assertThat(edited("{\"a\":0}", put(ONE, "a"), remove("a"))).isEqualTo("{}");
    assertThat(edited("{}", put(ONE, "a"), add(4, 0, "a"), replace(RawJson.NULL, "b")))
        .isEqualTo("{\"a\":5}");
  }

  @Test
  void membersOfANestedObjectAreEditedInPlace() {
    String body = "{\"sampling_params\": {\"max_tokens\":9, \"top_p\":1e0 },\"z\":0}";

    assertThat(
            edited(
                body,
                put(ONE, "sampling_params", "max_tokens"),
                put(ONE, "sampling_params", "min_tokens")))
        .isEqualTo(
            "{\"sampling_params\": {\"max_tokens\":1, \"top_p\":1e0,\"min_tokens\":1 },\"z\":0}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "{\"p\":null}"})
  void aMissingNestedObjectIsAdded(String body) {
    assertThat(edited(body, put(ONE, "p", "a"), put(ONE, "p", "b"), remove("p", "b")))
        .isEqualTo("{\"p\":{\"a\":1}}");
  }

  @Test
  void editsInsideScalarsAndRemovalsOfMissingMembersHaveNoEffect() {
    assertThat(edited("{\"p\":[1]}", put(ONE, "p", "a"))).isEqualTo("{\"p\":[1]}");
    assertThat(edited("{}", remove("p", "a"), replace(ONE, "p", "a"))).isEqualTo("{}");
  }

  @Test
  void integersAreAddedToButNotBelowTheLeast() {
    assertThat(edited("{\"m\":200}", add(-1, 1, "m"))).isEqualTo("{\"m\":199}");
    assertThat(edited("{\"m\":1}", add(-1, 1, "m"))).isEqualTo("{\"m\":1}");
    assertThat(edited("{\"m\":0}", add(-1, 1, "m"))).isEqualTo("{\"m\":0}");
    assertThat(edited("{\"m\":1.5,\"n\":null}", add(-1, 1, "m"), add(1, 0, "n")))
        .isEqualTo("{\"m\":1.5,\"n\":null}");
    assertThat(edited("{\"m\":99999999999999999999}", add(-1, 1, "m")))
        .isEqualTo("{\"m\":99999999999999999999}");
  }

  @Test
  void arraysGrowAtTheirEnd() {
    assertThat(edited("{\"p\":[1, 2 ]}", extend(RawJson.of(3), "p")))
        .isEqualTo("{\"p\":[1, 2 ,3]}");
    assertThat(edited("{\"p\":[ ]}", extend(RawJson.of(3), "p"), extend(RawJson.of(4), "p")))
        .isEqualTo("{\"p\":[ 3,4]}");
    assertThat(edited("{\"p\":\"[]\"}", extend(RawJson.of(3), "p"))).isEqualTo("{\"p\":\"[]\"}");
  }

  @Test
  void anInsertedValueCanItselfBeEdited() {
    RawJson params = RawJson.of("{\"remote_host\":\"localhost\", \"x\":1E400}");
    BodyEdit edit =
        new BodyEdit.Put(
            List.of("kv_transfer_params"),
            params,
            List.of(replace(RawJson.string("10.0.0.1"), "remote_host")));

    assertThat(edited("{\"a\":1}", edit))
        .isEqualTo("{\"a\":1,\"kv_transfer_params\":{\"remote_host\":\"10.0.0.1\", \"x\":1E400}}");
  }

  @Test
  void everythingElseSurvivesByteForByte() {
    String body =
        "\uFEFF{\"t\":0.10, \"seed\":123456789012345678901234567890,\n\t\"e\":\"\\u00e9é\","
            + "\"stream\":true,\"k\":{\"n\":[[1,2],[]]}}\n";

    assertThat(edited(body, put(RawJson.FALSE, "stream")))
        .isEqualTo(body.replace("\"stream\":true", "\"stream\":false"));
  }

  @Test
  void withoutEditsTheOriginalIsOnePiece() {
    assertThat(Edits.splice("{\"a\":1}"))
        .isEqualTo(new Splice(List.of(new Piece.Original(0, 7)), 7));
  }

  @Test
  void aLargeOriginalIsNamedNotCopied() {
    String body = "{\"prompt\":\"" + "x".repeat(10_000) + "\",\"max_tokens\":9,\"user\":\"u\"}";
    Splice splice = Edits.splice(body, put(ONE, "max_tokens"));

    List<Piece> expected =
        List.of(
            new Piece.Original(0, 10_026), new Piece.Inserted(ONE), new Piece.Original(10_027, 12));
    assertThat(splice).isEqualTo(new Splice(expected, 10_039));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "[]", "1", "{\"a\":1", "{\"a\":1}x", "{a:1}", "nul", "{\"a\"}"})
  void aBodyThatIsNotAnObjectIsNotEdited(String body) {
    assertThat(Edits.splice(body, remove("a"))).isNull();
  }

  @Test
  void anObjectWithTooManyMembersIsNotEdited() {
    String most = "\"n\":1,".repeat(JsonMembers.MAX_MEMBERS - 1) + "\"n\":1";

    assertThat(Edits.splice("{" + most + "}", remove("n"))).isNotNull();
    assertThat(Edits.splice("{" + most + ",\"n\":1}", remove("n"))).isNull();
  }

  /** Otherwise the member that is to be removed would stay. */
  @Test
  void anObjectOnThePathWithTooManyMembersIsNotPassedOn() {
    String most = "\"n\":1,".repeat(JsonMembers.MAX_MEMBERS - 1);
    String secret = "\"k\":1";

    assertThat(Edits.splice("{\"a\":{" + most + secret + "}}", remove("a", "k"))).isNotNull();
    assertThat(Edits.splice("{\"a\":{\"n\":1," + most + secret + "}}", remove("a", "k"))).isNull();
    String deep = "{\"a\":{\"b\":{\"n\":1," + most + secret + "}}}";
    assertThat(Edits.splice(deep, remove("a", "b", "k"))).isNull();
  }
}
