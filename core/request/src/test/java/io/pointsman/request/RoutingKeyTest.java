package io.pointsman.request;

import static io.pointsman.request.Reading.blocks;
import static io.pointsman.request.Reading.chat;
import static io.pointsman.request.Reading.key;
import static io.pointsman.request.Reading.read;
import static io.pointsman.request.Reading.shared;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RoutingKeyTest {
  private static final String LONG = "The quick brown fox jumps over the lazy dog. ".repeat(12);

  private static String messages(String... contents) {
    List<String> list = new ArrayList<>();
    for (String content : contents) {
      String role = list.size() % 2 == 0 ? "user" : "assistant";
      list.add("{\"role\":\"" + role + "\",\"content\":\"" + content + "\"}");
    }
    return "\"messages\":[" + String.join(",", list) + "]";
  }

  private static String body(String... members) {
    return "{" + String.join(",", members) + "}";
  }

  private static String ids(int from, int to) {
    return IntStream.range(from, to).mapToObj(i -> "" + i * 7).collect(Collectors.joining(","));
  }

  @Test
  void samplingParametersDoNotMatter() {
    RequestFacts plain = chat(body(messages(LONG)));
    RequestFacts tuned =
        chat(
            body(
                "\"temperature\":0.7,\"max_tokens\":5,\"stream\":true",
                messages(LONG),
                "\"seed\":1,\"stop\":[\"x\"],\"response_format\":{\"type\":\"json_object\"}"));
    assertThat(blocks(plain)).isNotEmpty().isEqualTo(blocks(tuned));
  }

  @Test
  void tokenIdsHaveTheHashesOfKvEvents() {
    int[] wanted = IntStream.range(0, 100).map(i -> i * 7).toArray();
    for (String path : List.of("/v1/completions", "/inference/v1/generate", "/generate")) {
      String field =
          switch (path) {
            case "/v1/completions" -> "prompt";
            case "/generate" -> "input_ids";
            default -> "token_ids";
          };
      String ids = "\"" + field + "\":[" + ids(0, 100) + "]";
      PrefixBlocks key = read(Endpoint.of("POST", path), body("\"model\":\"m\"", ids)).prefix();
      assertThat(key.tokenIds()).as(path).isTrue();
      assertThat(key.tokens()).isEqualTo(100);
      PrefixBlocks base = TokenIds.key(0, wanted, 100, 100);
      for (int i = 0; i < 7; i++) {
        assertThat(key.rebased(i, base.base())).isEqualTo(base.hashes()[i]);
        assertThat(key.hashes()[i]).isNotEqualTo(base.hashes()[i]);
      }
      PrefixBlocks nameless = read(Endpoint.of("POST", path), body(ids)).prefix();
      assertThat(nameless.hashes()).isEqualTo(base.hashes());
    }
  }

  @Test
  void promptsWithOtherFieldsThanIdsAreNotComparedWithKvEvents() {
    String ids = "\"prompt\":[" + ids(0, 100) + "]";
    for (String other :
        List.of(
            "\"cache_salt\":\"s\"",
            "\"extra_key\":[\"s\"]",
            "\"prompt_embeds\":\"AAAA\"",
            "\"lora_path\":\"l\"",
            "\"suffix\":\"x\"",
            "\"suffix\":\"and a long end that is more than one block of sixty-four bytes of"
                + " text\"")) {
      assertThat(read(Endpoint.COMPLETIONS, body(ids, other)).prefix().tokenIds()).isFalse();
    }
    String batch = "\"prompt\":[[" + ids(0, 100) + "],[" + ids(0, 50) + "]]";
    assertThat(read(Endpoint.COMPLETIONS, body(batch)).prefix().tokenIds()).isFalse();
    String whole = "\"prompt\":[[" + ids(0, 96) + "],[" + ids(0, 50) + "]]";
    assertThat(read(Endpoint.COMPLETIONS, body(whole)).prefix().tokenIds()).isFalse();
    String fields = "\"prompt\":[" + ids(0, 96) + "],\"prompt_token_ids\":[" + ids(0, 50) + "]";
    assertThat(read(Endpoint.COMPLETIONS, body(fields)).prefix().tokenIds()).isFalse();
    String one = "\"prompt\":[[" + ids(0, 96) + "]]";
    assertThat(read(Endpoint.COMPLETIONS, body(one)).prefix().tokenIds()).isTrue();
    assertThat(read(Endpoint.COMPLETIONS, body("\"prompt\":\"text\"")).prefix().tokenIds())
        .isFalse();
    assertThat(chat(body(messages(LONG))).prefix().tokenIds()).isFalse();
  }

  @Test
  void aLongerConversationSharesAllBlocksOfTheShorterOne() {
    RequestFacts first = chat(body(messages(LONG + "one")));
    RequestFacts second = chat(body(messages(LONG + "one", "ok", "and " + LONG)));
    assertThat(shared(first, second)).isEqualTo(first.prefix().count());
    assertThat(second.prefix().count()).isGreaterThan(first.prefix().count() + 5);
  }

  @Test
  void noBlockAfterAnEarlyChangeIsShared() {
    RequestFacts one = chat(body(messages(LONG + LONG)));
    RequestFacts other = chat(body(messages(LONG.replaceFirst("lazy", "idle") + LONG)));
    assertThat(shared(one, other)).isZero();
    RequestFacts later = chat(body(messages(LONG + LONG.replaceFirst("lazy", "idle"))));
    assertThat(shared(one, later)).isEqualTo((LONG.length() + 35) / 64);
  }

  @Test
  void rolesAndNamesMatter() {
    RequestFacts one = chat("{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");
    RequestFacts other = chat("{\"messages\":[{\"role\":\"system\",\"content\":\"hi\"}]}");
    RequestFacts named =
        chat("{\"messages\":[{\"role\":\"user\",\"name\":\"bob\",\"content\":\"hi\"}]}");
    assertThat(one.prefix().count()).isEqualTo(1);
    assertThat(shared(one, other)).isZero();
    assertThat(shared(one, named)).isZero();
  }

  @Test
  void modelsAdaptersAndSaltsNeverShare() {
    List<String> salts =
        List.of(
            "\"model\":\"a\"",
            "\"model\":\"b\"",
            "\"lora_name\":\"a\"",
            "\"lora_path\":\"a\"",
            "\"adapter\":\"a\"",
            "\"cache_salt\":\"a\"",
            "\"cache_salt\":\"b\"",
            "\"extra_key\":\"a\"",
            "\"chat_template\":\"a\"",
            "\"chat_template_kwargs\":{\"enable_thinking\":false}",
            "\"chat_template_kwargs\":{\"enable_thinking\":true}",
            "\"model\":null");
    for (String one : salts) {
      for (String other : salts) {
        int shared = shared(chat(body(one, messages(LONG))), chat(body(messages(LONG), other)));
        assertThat(shared == 0).as(one + " and " + other).isNotEqualTo(one.equals(other));
      }
    }
    RequestFacts unnamed = chat(body(messages(LONG)));
    assertThat(shared(unnamed, chat(body("\"cache_salt\":null", messages(LONG))))).isPositive();
  }

  @ParameterizedTest
  @CsvSource({
    "GENERATE, text, image_data",
    "GENERATE, text, video_data",
    "GENERATE, input_ids, audio_data",
    "GENERATE, input_ids, input_embeds",
    "TOKEN_GENERATE, token_ids, features",
    "COMPLETIONS, prompt, multi_modal_data",
    "COMPLETIONS, prompt, prompt_embeds",
    "TRANSPARENT, text, image_data",
  })
  void promptsWithDifferentImagesOrEmbeddingsShareNothing(
      Endpoint endpoint, String field, String beside) {
    String prompt =
        "\"%s\":%s".formatted(field, field.endsWith("ids") ? "[1,2,3]" : "\"<image>tell\"");
    String member = "\"" + beside + "\":";
    RequestFacts alone = read(endpoint, body(prompt));
    RequestFacts one = read(endpoint, body(prompt, member + "[\"QUJD\"]"));
    assertThat(shared(one, read(endpoint, body(member + "[\"QUJE\"]", prompt)))).isZero();
    assertThat(shared(one, alone)).isZero();
    assertThat(one.prefix().tokenIds()).isFalse();
    assertThat(blocks(read(endpoint, body(member + "[ \"QUJD\" ]", prompt))))
        .isEqualTo(blocks(one));
    for (String nothing : List.of("null", "[]", "\"\"")) {
      RequestFacts without = read(endpoint, body(prompt, member + nothing));
      assertThat(without.prefix()).usingRecursiveComparison().isEqualTo(alone.prefix());
    }
  }

  @Test
  void sectionsAreChainedInOneOrder() {
    String tools = "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]";
    String system = "\"system\":[{\"type\":\"text\",\"text\":\"" + LONG + "\"}]";
    RequestFacts one = chat(body(tools, system, messages("hi")));
    RequestFacts other = chat(body(messages("hi"), system, tools));
    assertThat(blocks(one)).isEqualTo(blocks(other));
    RequestFacts otherQuestion = chat(body(messages("ho"), system, tools));
    assertThat(shared(one, otherQuestion)).isEqualTo(one.prefix().count() - 1);
    assertThat(shared(one, chat(body(system, messages("hi"))))).isZero();
  }

  @Test
  void theOrderOfToolsMattersButTheOrderOfTheirMembersDoesNot() {
    String f = "{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{}}}";
    String mixed = "{\"function\":{\"parameters\":{ },\"name\":\"f\"},\"type\":\"function\"}";
    String g = f.replace("\"f\"", "\"g\"");
    RequestFacts fg = chat(body("\"tools\":[" + f + "," + g + "]"));
    assertThat(blocks(fg)).isEqualTo(blocks(chat(body("\"tools\":[" + mixed + "," + g + "]"))));
    assertThat(shared(fg, chat(body("\"tools\":[" + g + "," + f + "]")))).isZero();
  }

  @Test
  void largeToolsCountAsMuchAsText() {
    String tool = "{\"description\":\"" + LONG + "\"}";
    PrefixBlocks key = key(Endpoint.CHAT_COMPLETIONS, body("\"tools\":[" + tool + "]"));
    assertThat(key.count()).isBetween(LONG.length() / 64, LONG.length() / 64 + 2);
    assertThat(key.tokens()).isBetween(LONG.length() / 4, LONG.length() / 4 + 8);
  }

  @Test
  void oneTextPartEqualsAString() {
    RequestFacts string = chat(body(messages(LONG)));
    RequestFacts part =
        chat(
            "{\"messages\":[{\"content\":[{\"type\":\"text\",\"text\":\""
                + LONG
                + "\"}],\"role\":\"user\"}]}");
    assertThat(blocks(string)).isEqualTo(blocks(part));
  }

  @Test
  void imagesAndOtherPartsMatterByTheirValue() {
    String part = "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:%s\"}}";
    String start = "{\"messages\":[{\"role\":\"user\",\"content\":[";
    RequestFacts one = chat(start + part.formatted("AAA") + "]}]}");
    RequestFacts other = chat(start + part.formatted("AAB") + "]}]}");
    assertThat(shared(one, other)).isZero();
    RequestFacts large = chat(start + part.formatted("A".repeat(1_000_000)) + "]}]}");
    assertThat(large.prefix().tokens()).isBetween(1000, 1100);
  }

  /** Binary data counts as 1,024 tokens at most; a text counts completely. */
  @ParameterizedTest
  @CsvSource({
    "'{`type`:`redacted_thinking`,`data`:`%s`}', 1024",
    "'{`type`:`input_audio`,`input_audio`:{`data`:`%s`}}', 1024",
    "'{`type`:`x`,`x`:{`data`:[`%s`]}}', 10000",
    "'{`type`:`x`,`x`:[{`a`:1,`data`:2},`%s`]}', 10000",
    "'{`type`:`x`,`x`:[{`data`:2,`a`:1},`%s`]}', 10000",
    "'{`data`:`a`,`x`:[`%s`]}', 10000"
  })
  void binaryDataCountsLittleAtEveryPosition(String part, int tokens) {
    String content = part.replace('`', '"').formatted("A".repeat(40_000));
    RequestFacts facts = chat("{\"messages\":[{\"role\":\"user\",\"content\":[" + content + "]}]}");
    assertThat(facts.prefix().tokens()).isBetween(tokens, tokens + 30);
  }

  @Test
  void toolCallsAndTheirAnswersMatter() {
    String call =
        "{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\","
            + "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
            + "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"%s\"}]}";
    RequestFacts one = chat(call.formatted("4"));
    assertThat(shared(one, chat(call.formatted("5")))).isEqualTo(one.prefix().count() - 1);
    assertThat(shared(one, chat(call.formatted("4").replace("\"f\"", "\"g\"")))).isZero();
    assertThat(blocks(one))
        .isEqualTo(blocks(chat(call.formatted("4").replace("\"content\":null,", ""))));
  }

  @Test
  void movingTheCacheMarkChangesNothing() {
    String marked =
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\","
            + "\"cache_control\":{\"type\":\"ephemeral\"}}]}]}";
    String plain = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    assertThat(blocks(read(Endpoint.MESSAGES, marked)))
        .isEqualTo(blocks(read(Endpoint.MESSAGES, plain)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}",
        ",\"description\":null"
      })
  void theCacheMarkOfAToolOfAnySizeChangesNothing(String mark) {
    String tool = "\"tools\":[{\"name\":\"%s\",\"input_schema\":{\"required\":[]%s}}]";
    String result =
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"content\":["
            + "{\"type\":\"text\",\"text\":\"%s\"%s}]}]}]";
    for (int size = 1; size < 90; size++) {
      for (String form : List.of(tool, result)) {
        String text = "x".repeat(size);
        PrefixBlocks plain = key(Endpoint.MESSAGES, body(form.formatted(text, "")));
        PrefixBlocks marked = key(Endpoint.MESSAGES, body(form.formatted(text, mark)));
        assertThat(marked).usingRecursiveComparison().isEqualTo(plain);
        assertThat(plain.count()).isPositive();
      }
    }
  }

  @Test
  void zerosAreCounted() {
    RequestFacts two = read(Endpoint.COMPLETIONS, "{\"prompt\":[0,0]}");
    RequestFacts three = read(Endpoint.COMPLETIONS, "{\"prompt\":[0,0,0]}");
    assertThat(shared(two, three)).isZero();
  }

  @Test
  void tokenIdsCountByValueSixteenToABlock() {
    PrefixBlocks key = key(Endpoint.TOKEN_GENERATE, "{\"token_ids\":[" + ids(0, 873) + "]}");
    assertThat(key.count()).isEqualTo(55);
    assertThat(key.tokens()).isEqualTo(873);
    assertThat(key.blockLength()).isEqualTo(16);
    assertThat(key.length()).isEqualTo(873);
    PrefixBlocks spaced =
        key(
            Endpoint.TOKEN_GENERATE,
            "{\"token_ids\" : [ " + ids(0, 873).replace(",", " ,\n") + " ]}");
    assertThat(spaced.whole()).isEqualTo(key.whole());
  }

  @Test
  void tokenPromptsShareFullBlocksOnly() {
    RequestFacts one = read(Endpoint.COMPLETIONS, "{\"prompt\":[" + ids(0, 100) + "]}");
    RequestFacts longer = read(Endpoint.COMPLETIONS, "{\"prompt\":[" + ids(0, 120) + "]}");
    assertThat(shared(one, longer)).isEqualTo(6);
    RequestFacts changed =
        read(Endpoint.COMPLETIONS, "{\"prompt\":[" + ids(0, 40) + ",1," + ids(41, 100) + "]}");
    assertThat(shared(one, changed)).isEqualTo(2);
  }

  @Test
  void hugeAndOddNumbersAmongIdsAreDistinguished() {
    RequestFacts one = read(Endpoint.COMPLETIONS, "{\"prompt\":[123456789012345678901234]}");
    RequestFacts other = read(Endpoint.COMPLETIONS, "{\"prompt\":[123456789012345678901235]}");
    RequestFacts fraction = read(Endpoint.COMPLETIONS, "{\"prompt\":[1.5,-2,3e4,null]}");
    assertThat(shared(one, other)).isZero();
    assertThat(fraction.body().kind()).isEqualTo(BodyVerdict.Kind.OBJECT);
    assertThat(fraction.prefix().count()).isPositive();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "COMPLETIONS|{\"prompt\":%s}",
        "COMPLETIONS|{\"prompt\":[%s,\"b\"]}",
        "COMPLETIONS|{\"prompt\":[[1,2],[3]],\"suffix\":%s}",
        "RESPONSES|{\"input\":%s}",
        "RESPONSES|{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":%s}]}]}",
        "RESPONSES|{\"input\":\"x\",\"instructions\":%s}",
        "EMBEDDINGS|{\"input\":%s}",
        "EMBEDDINGS|{\"input\":[\"a\",%s]}",
        "EMBEDDINGS|{\"messages\":[{\"role\":\"user\",\"content\":%s}]}",
        "RERANK|{\"query\":%s,\"documents\":[\"d\"]}",
        "RERANK|{\"query\":\"q\",\"documents\":[{\"text\":%s}]}",
        "SCORE|{\"text_1\":%s,\"text_2\":\"d\"}",
        "SCORE|{\"text_1\":\"a\",\"text_2\":[%s]}",
        "POOLING|{\"input\":%s}",
        "CLASSIFY|{\"input\":[%s]}",
        "GENERATE|{\"text\":%s}",
        "GENERATE|{\"prompt\":%s}",
        "MESSAGES|{\"system\":%s}",
        "MESSAGES|{\"messages\":[{\"content\":[{\"type\":\"tool_result\",\"content\":%s}]}]}",
        "CHAT_COMPLETIONS|{\"documents\":[{\"title\":\"t\",\"text\":%s}]}",
        "CHAT_COMPLETIONS|{\"functions\":[{\"name\":\"t\",\"description\":%s}]}",
        "AUDIO_SPEECH|{\"input\":%s}",
        "IMAGES_GENERATIONS|{\"prompt\":%s}",
        "TRANSPARENT|{\"prompt\":%s}",
        "TRANSPARENT|{\"messages\":[{\"content\":%s}]}",
        "TRANSPARENT|{\"input\":%s}",
        "TRANSPARENT|{\"text\":%s}",
      })
  void promptsAreFoundByRoute(Endpoint endpoint, String template) {
    RequestFacts one = read(endpoint, template.formatted("\"" + LONG + "x\""));
    RequestFacts other = read(endpoint, template.formatted("\"" + LONG + "y\""));
    RequestFacts more =
        read(endpoint, "{\"n\":1," + template.formatted("\"" + LONG + "x\"").substring(1));
    assertThat(one.prefix().whole()).isNotEqualTo(other.prefix().whole());
    assertThat(one.prefix().count()).isGreaterThan(LONG.length() / 64);
    assertThat(blocks(more)).isEqualTo(blocks(one));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "TOKEN_GENERATE|{\"token_ids\":[%s]}",
        "GENERATE|{\"input_ids\":[%s]}",
        "GENERATE|{\"input_ids\":[[1,2],[%s]]}",
        "COMPLETIONS|{\"prompt\":[%s]}",
        "COMPLETIONS|{\"prompt\":[[%s],[5]]}",
        "EMBEDDINGS|{\"input\":[%s]}",
        "TRANSPARENT|{\"token_ids\":[%s]}",
      })
  void tokenPromptsAreFoundByRoute(Endpoint endpoint, String template) {
    RequestFacts one = read(endpoint, template.formatted("7,8,9"));
    RequestFacts other = read(endpoint, template.formatted("7,8,10"));
    assertThat(one.prefix().blockLength()).isEqualTo(16);
    assertThat(one.prefix().whole()).isNotEqualTo(other.prefix().whole());
    assertThat(blocks(read(endpoint, template.formatted(" 7, 8 ,9 ")))).isEqualTo(blocks(one));
  }

  /** Engines cache nothing of these prompts. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "TOKENIZE|{\"prompt\":\"a\",\"cache_salt\":\"s\"}",
        "TOKENIZE|{\"messages\":[{\"content\":\"a\"}]}",
        "DETOKENIZE|{\"tokens\":[1,2]}",
        "MESSAGES_COUNT_TOKENS|{\"system\":\"a\",\"messages\":[{\"content\":\"a\"}]}",
      })
  void requestsThatOnlyCountTokensHaveNoKey(Endpoint endpoint, String body) {
    RequestFacts facts = read(endpoint, "{\"model\":\"m\"," + body.substring(1));
    assertThat(facts.model()).isEqualTo("m");
    assertThat(facts.prefix()).isSameAs(PrefixBlocks.NONE);
  }

  @Test
  void fieldsOfOtherRoutesDoNotMatterOnATypedOne() {
    RequestFacts one = chat(body("\"prompt\":\"x\"", messages("hi")));
    assertThat(blocks(one)).isEqualTo(blocks(chat(body(messages("hi")))));
  }

  @Test
  void theLastOfDuplicatePromptsCounts() {
    RequestFacts one = chat(body(messages(LONG), messages("hi")));
    assertThat(blocks(one)).isEqualTo(blocks(chat(body(messages("hi")))));
    RequestFacts content =
        chat(
            "{\"messages\":[{\"content\":\"" + LONG + "\",\"role\":\"user\",\"content\":\"hi\"}]}");
    assertThat(blocks(content)).isEqualTo(blocks(chat(body(messages("hi")))));
  }

  @Test
  void switchesThatChangeTheEndOfThePromptKeepItsStart() {
    RequestFacts plain = chat(body(messages(LONG)));
    RequestFacts open = chat(body(messages(LONG), "\"add_generation_prompt\":false"));
    assertThat(shared(plain, open)).isEqualTo(plain.prefix().count());
    assertThat(plain.prefix().whole()).isNotEqualTo(open.prefix().whole());
    RequestFacts said = chat(body("\"add_generation_prompt\":true", messages(LONG)));
    assertThat(blocks(said)).isEqualTo(blocks(plain));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "{\"messages\":[]}", "{\"messages\":null}", "{\"model\":\"m\"}"})
  void withoutAPromptThereIsNoKey(String body) {
    assertThat(chat(body).prefix()).isEqualTo(PrefixBlocks.NONE);
  }

  @Test
  void aTinyPromptIsOneBlockOfAtLeastOneToken() {
    PrefixBlocks key = key(Endpoint.COMPLETIONS, "{\"prompt\":\"a\"}");
    assertThat(key.count()).isEqualTo(1);
    assertThat(key.length()).isEqualTo(1);
    assertThat(key.tokens()).isEqualTo(1);
    assertThat(key.ratio(1)).isEqualTo(1);
  }
}
