package io.pointsman.request;

import static io.pointsman.request.Reading.blocks;
import static io.pointsman.request.Reading.chat;
import static io.pointsman.request.Reading.quoted;
import static io.pointsman.request.Reading.read;
import static io.pointsman.request.Reading.shared;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.request.BodyVerdict.Kind;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.AlphaChars;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.constraints.StringLength;
import org.jspecify.annotations.Nullable;

/** The reader compared with a tree parser, and with itself on equivalent texts. */
class RequestReaderProperties {
  @Provide
  Arbitrary<ObjectNode> chats() {
    return JsonTexts.chats();
  }

  @Provide
  Arbitrary<ObjectNode> bodies() {
    return JsonTexts.bodies();
  }

  @Property(tries = 300)
  void factsEqualThoseOfATree(@ForAll("bodies") ObjectNode tree, @ForAll Random random) {
    String body = JsonTexts.write(tree, random);
    RequestFacts facts = chat(body);
    assertThat(facts.body().kind()).isEqualTo(Kind.OBJECT);
    assertThat(facts.model()).isEqualTo(nonEmpty(tree.get("model")));
    assertThat(facts.stream())
        .isEqualTo(
            tree.path("stream").toString().matches("(?i)true|1|1\\.0|\"(true|t|yes|y|on|1)\""));
    assertThat(facts.affinity()).isEqualTo(affinity(tree));
    if (tree.has("model")) {
      String value = quoted(body.getBytes(UTF_8), facts.modelSpan());
      assertThat(value.strip()).isEqualTo(value);
      assertThat(parse(value)).isEqualTo(parse(tree.get("model").toString()));
    }
  }

  @Property(tries = 300)
  void anArrayIsNotAnObject(@ForAll("bodies") ObjectNode tree, @ForAll Random random) {
    String array = JsonTexts.write(JsonTexts.MAPPER.createArrayNode().add(tree), random);
    assertThat(chat(array).body().kind()).isEqualTo(Kind.NOT_OBJECT);
    assertThat(chat(array).model()).isNull();
  }

  @Property(tries = 300)
  void aWrongCharacterHasTheVerdictOfAParser(
      @ForAll @Size(min = 1, max = 5)
          Map<@AlphaChars @StringLength(max = 3) String, @AlphaChars @StringLength(max = 3) String>
              members,
      @ForAll Random random) {
    ObjectNode tree = JsonTexts.MAPPER.createObjectNode();
    members.forEach(
        (name, value) ->
            tree.putArray(name).add(value).add(7).add(true).addNull().addObject().put("a", 1));
    StringBuilder text = new StringBuilder(JsonTexts.write(tree, random));
    int at = random.nextInt(text.length());
    if (random.nextBoolean()) {
      text.deleteCharAt(at);
    } else {
      text.insert(at, "{}[]:,\" x7".charAt(random.nextInt(10)));
    }
    Kind expected = parse(text.toString()) == null ? Kind.MALFORMED : Kind.OBJECT;
    assertThat(chat(text.toString()).body().kind()).as(text.toString()).isEqualTo(expected);
  }

  @Property(tries = 300)
  void theKeyDoesNotDependOnOrderSpaceOrSampling(
      @ForAll("chats") ObjectNode tree, @ForAll Random random) {
    RequestFacts one = chat(JsonTexts.write(tree, random));
    ObjectNode tuned = tree.deepCopy().put("temperature", 0.3).put("n", 2).put("stream", true);
    RequestFacts other = chat(JsonTexts.write(tuned, random));
    assertThat(blocks(other)).isEqualTo(blocks(one));
    assertThat(other.prefix()).usingRecursiveComparison().isEqualTo(one.prefix());
    RequestFacts plain = read(Endpoint.TRANSPARENT, JsonTexts.write(tuned, random));
    assertThat(blocks(plain)).isEqualTo(blocks(one));
  }

  @Property(tries = 300)
  void theKeyDoesNotDependOnAbsentMembers(@ForAll("chats") ObjectNode tree, @ForAll Random random) {
    RequestFacts one = chat(JsonTexts.write(tree, random));
    RequestFacts other = chat(JsonTexts.write(JsonTexts.marked(tree, random), random));
    assertThat(other.prefix()).usingRecursiveComparison().isEqualTo(one.prefix());
  }

  @Property(tries = 300)
  void anExtendedConversationSharesAllEarlierBlocks(
      @ForAll("chats") ObjectNode tree, @ForAll("chats") ObjectNode more, @ForAll Random random) {
    ObjectNode longer = tree.deepCopy();
    ((ArrayNode) longer.get("messages")).addAll((ArrayNode) more.get("messages"));
    RequestFacts one = chat(JsonTexts.write(tree, random));
    RequestFacts other = chat(JsonTexts.write(longer, random));
    assertThat(shared(one, other)).isEqualTo(one.prefix().count());
    assertThat(other.prefix().count()).isGreaterThan(one.prefix().count());
  }

  @Property(tries = 300)
  void aChangeOfTheFirstMessageSharesNothingOfTheMessages(
      @ForAll("chats") ObjectNode tree, @ForAll Random random) {
    ObjectNode changed = tree.deepCopy();
    ((ObjectNode) changed.get("messages").get(0)).put("name", "other");
    ObjectNode toolsOnly = tree.deepCopy();
    toolsOnly.putArray("messages");
    RequestFacts one = chat(JsonTexts.write(tree, random));
    RequestFacts other = chat(JsonTexts.write(changed, random));
    RequestFacts tools = chat(JsonTexts.write(toolsOnly, random));
    assertThat(shared(one, other)).isEqualTo(tools.prefix().count());
  }

  @Property(tries = 300)
  void anotherModelSharesNothing(@ForAll("chats") ObjectNode tree, @ForAll Random random) {
    RequestFacts one = chat(JsonTexts.write(tree, random));
    RequestFacts other = chat(JsonTexts.write(tree.deepCopy().put("model", "m2"), random));
    assertThat(shared(one, other)).isZero();
    assertThat(one.prefix().count()).isPositive();
  }

  private static @Nullable String nonEmpty(@Nullable JsonNode node) {
    return node == null || !node.isTextual() || node.textValue().isEmpty()
        ? null
        : node.textValue();
  }

  private static @Nullable AffinityKey affinity(ObjectNode tree) {
    String[][] places = {
      {"session_params.session_id", "/session_params/session_id"},
      {"user", "/user"},
      {"session_id", "/session_id"},
      {"user_id", "/user_id"},
      {"session_params.user_id", "/session_params/user_id"}
    };
    for (String[] place : places) {
      JsonNode node = tree.at(place[1]);
      boolean identifies = node.isNumber() || (node.isTextual() && !node.textValue().isBlank());
      if (identifies) {
        String value = node.isNumber() ? node.toString() : node.textValue();
        return Identities.key(AffinityKey.Kind.SESSION, "body:" + place[0], value);
      }
    }
    return null;
  }

  private static @Nullable JsonNode parse(String text) {
    try {
      return JsonTexts.MAPPER
          .reader()
          .with(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .readTree(text);
    } catch (JsonProcessingException malformed) {
      return null;
    }
  }
}
