package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.request.event.EngineEnd;
import io.pointsman.request.usage.AnswerScanner.Form;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class AnswerScannerTest {
  /** Reads the counts of an answer, split after each byte in turn, and byte by byte. */
  private static Usage read(String answer) {
    byte[] bytes = ("??" + answer + "??").getBytes(UTF_8);
    int end = bytes.length - 2;
    Usage whole = split(Form.ANY, bytes, end, end).usage();
    for (int at = 2; at < end; at++) {
      assertThat(split(Form.ANY, bytes, at, end).usage()).as("split at " + at).isEqualTo(whole);
    }
    assertThat(byByte(Form.ANY, answer).usage()).isEqualTo(whole);
    return whole;
  }

  private static AnswerScanner split(Form form, byte[] bytes, int at, int end) {
    AnswerScanner scanner = new AnswerScanner(form);
    scanner.read(bytes, 2, at);
    scanner.read(bytes, at, end);
    return scanner;
  }

  private static AnswerScanner byByte(Form form, String answer) {
    AnswerScanner scanner = new AnswerScanner(form);
    for (byte b : answer.getBytes(UTF_8)) {
      scanner.read(new byte[] {b}, 0, 1);
    }
    return scanner;
  }

  private static AnswerScanner scan(Form form, String answer) {
    byte[] bytes = answer.getBytes(UTF_8);
    AnswerScanner scanner = new AnswerScanner(form);
    scanner.read(bytes, 0, bytes.length);
    boolean aborted = scanner.aborted();
    for (int at = 0; at < bytes.length; at++) {
      AnswerScanner parts = new AnswerScanner(form);
      parts.read(bytes, 0, at);
      parts.read(bytes, at, bytes.length);
      assertThat(parts.aborted()).as("split at " + at).isEqualTo(aborted);
    }
    assertThat(byByte(form, answer).aborted()).isEqualTo(aborted);
    return scanner;
  }

  @Test
  void chatCompletionsHaveAllThreeCounts() {
    assertThat(
            read(
                "{\"choices\":[{\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":12,\"total_tokens\":20,"
                    + "\"completion_tokens\":8,\"prompt_tokens_details\":{\"cached_tokens\":4}},"
                    + "\"kv_transfer_params\":null}"))
        .isEqualTo(new Usage(12, 4, 8));
  }

  @Test
  void lastEventOfAStreamCounts() {
    assertThat(
            read(
                "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}],\"usage\":null}\n\n"
                    + "data: {\"choices\":[],\"usage\":{ \"prompt_tokens\" : 7,"
                    + " \"completion_tokens\":3,\"prompt_tokens_details\":null}}\n\n"
                    + "data: [DONE]\n\n"))
        .isEqualTo(new Usage(7, -1, 3));
  }

  @Test
  void messagesAndResponsesAreRead() {
    assertThat(
            read(
                "{\"usage\":{\"input_tokens\":9,\"cache_creation_input_tokens\":3,"
                    + "\"cache_read_input_tokens\":5,\"output_tokens\":2}}"))
        .as("what is read from a cache or brought there is no part of a message's input")
        .isEqualTo(new Usage(17, 5, 2));
    assertThat(read("{\"usage\":{\"input_tokens\":9,\"output_tokens\":2}}"))
        .isEqualTo(new Usage(9, -1, 2));
    assertThat(
            read(
                "{\"usage\":{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":6},"
                    + "\"output_tokens\":2}}"))
        .isEqualTo(new Usage(9, 6, 2));
  }

  @Test
  void sglangReportsCountsInMetaInfo() {
    assertThat(
            read(
                "{\"text\":\"a\",\"meta_info\":{\"prompt_tokens\":12,\"completion_tokens\":1,"
                    + "\"cached_tokens\":4}}\n\ndata: {\"text\":\"ab\",\"meta_info\":{\"id\":\"x\","
                    + "\"prompt_tokens\":12,\"completion_tokens\":2,\"cached_tokens\":4,"
                    + "\"e2e_latency\":0.5}}\n\ndata: [DONE]\n\n"))
        .isEqualTo(new Usage(12, 4, 2));
    assertThat(read("{\"meta_info\":{\"prompt_tokens\":1},\"usage\":{\"prompt_tokens\":2}}"))
        .as("usage is for all choices")
        .isEqualTo(new Usage(2, -1, -1));
  }

  @Test
  void llamaCppCountsAStreamInTimings() {
    String timings =
        "\"timings\":{\"cache_n\":738,\"prompt_n\":1,\"prompt_ms\":1.195,"
            + "\"predicted_n\":2,\"predicted_per_second\":1242.236}}";
    String end = "data: {\"choices\":[{\"finish_reason\":\"length\",\"delta\":{}}],";
    assertThat(read(end + timings + "\n\ndata: [DONE]\n\n")).isEqualTo(new Usage(739, 738, 2));
    assertThat(scan(Form.CHOICES, end + timings).usage()).isEqualTo(new Usage(739, 738, 2));
    assertThat(read("{\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}," + timings))
        .as("usage applies")
        .isEqualTo(new Usage(5, -1, 1));
    assertThat(
            read(
                "{"
                    + timings.substring(0, timings.length() - 1)
                    + ",\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}"))
        .isEqualTo(new Usage(5, -1, 1));
    assertThat(read("{\"timings\":{\"prompt_n\":1,\"predicted_n\":2}}"))
        .as("a server that does not count cached tokens")
        .isEqualTo(new Usage(-1, -1, 2));
  }

  @Test
  void aMessageMayCountItsPromptOnlyAtItsStart() {
    String start =
        "event: message_start\ndata: {\"message\":{\"usage\":{\"cache_read_input_tokens\":738,"
            + "\"input_tokens\":1,\"output_tokens\":0}}}\n\n";
    String end =
        "event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{";

    assertThat(scan(Form.MESSAGE, start + end + "\"output_tokens\":2}}\n\n").usage())
        .isEqualTo(new Usage(739, 738, 2));
    assertThat(scan(Form.MESSAGE, start + end + "\"input_tokens\":9,\"output_tokens\":2}}").usage())
        .isEqualTo(new Usage(9, -1, 2));
    assertThat(scan(Form.MESSAGE, end + "\"output_tokens\":2}}").usage())
        .isEqualTo(new Usage(-1, -1, 2));
  }

  @Test
  void textOfTheModelIsNoUsage() {
    assertThat(
            read(
                "{\"content\":\"\\\"usage\\\":{\\\"prompt_tokens\\\":99,\\\"x\\\":1}\",\"id\":\"a\"}"))
        .isEqualTo(Usage.UNKNOWN);
  }

  @Test
  void answersWithoutUsageHaveNoCounts() {
    assertThat(read("")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("data: [DONE]\n\n")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("{\"usage\":null}")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("{\"usage\":{}}")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("{\"usage\":{\"prompt_tokens\":99999999999}}")).isEqualTo(Usage.UNKNOWN);
  }

  @Test
  void aCutNumberDoesNotCount() {
    byte[] bytes = "{\"usage\":{\"prompt_tokens\":12".getBytes(UTF_8);

    AnswerScanner scanner = new AnswerScanner(Form.COUNTS);
    scanner.read(bytes, 0, bytes.length);

    assertThat(scanner.usage()).isEqualTo(Usage.UNKNOWN);
  }

  @Test
  void theLastUsageAndItsFirstNameCount() {
    assertThat(
            read(
                "{\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}"
                    + "{\"usage\":{\"input_tokens\":5,\"prompt_tokens\":3,\"prompt_tokens\":4,"
                    + "\"cache_read_input_tokens\":2,\"cached_tokens\":1}}"))
        .isEqualTo(new Usage(3, 1, -1));
    assertThat(read("{\"usage\":{\"prompt_tokens\":null,\"input_tokens\":5}}"))
        .isEqualTo(new Usage(5, -1, -1));
    assertThat(
            read(
                "{\"usage\":{\"prompt_tokens\":1}},{\"usage\":null,\"usage\" : 7,\"usage\"usage\""))
        .isEqualTo(new Usage(1, -1, -1));
  }

  @Test
  void namesWithTheSameStartOrEndAreDifferent() {
    assertThat(
            read(
                "{\"usage\":{\"prompt_tokens_details\":1,\"xprompt_tokens\":2,\"my\":"
                    + "\"prompt_tokens\",\"cached_tokens_\":4,\"id\":\"\\\"output_tokens\\\":5\"}}"))
        .isEqualTo(Usage.UNKNOWN);
    assertThat(read("{\"xusage\":{\"prompt_tokens\":1}} \"usage_\":{\"prompt_tokens\":1}}"))
        .isEqualTo(Usage.UNKNOWN);
  }

  @Test
  void usageIsFoundAtEveryPosition() {
    String usage = "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":8}";
    for (int before = 0; before < 20; before++) {
      for (int behind = 0; behind < 20; behind++) {
        String text = "usage\u00e9".substring(0, before % 7) + "x".repeat(before);
        String answer = "{\"" + text + "\":1," + usage + ",\"egasu\":1".repeat(behind) + "}";
        assertThat(read(answer)).isEqualTo(new Usage(12, -1, 8));
        assertThat(read("data: " + answer + "\n\n")).isEqualTo(new Usage(12, -1, 8));
      }
    }
  }

  /** Bytes after the end belong to another answer. */
  @Test
  void nothingIsReadBeyondTheEnd() {
    byte[] bytes = "{\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":8}".getBytes(UTF_8);
    for (int to = 0; to < bytes.length; to++) {
      AnswerScanner scanner = new AnswerScanner(Form.COUNTS);
      scanner.read(bytes, 0, to);
      Usage read = scanner.usage();
      boolean prompt = to > "{\"usage\":{\"prompt_tokens\":12".length();
      assertThat(read).isEqualTo(prompt ? new Usage(12, -1, -1) : Usage.UNKNOWN);
    }
  }

  /** The form of vLLM's {@code /inference/v1/generate}: choices with ids follow the counts. */
  @Test
  void usageIsFoundBeforeALongRest() {
    String ids = "100,".repeat(50_000) + "7";
    byte[] answer =
        ("{\"request_id\":\"a\",\"usage\":{\"prompt_tokens\":300,\"total_tokens\":308,"
                + "\"completion_tokens\":8,\"prompt_tokens_details\":{\"cached_tokens\":256}},"
                + "\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"token_ids\":["
                + ids
                + "]}]}")
            .getBytes(UTF_8);
    AnswerScanner scanner = new AnswerScanner(Form.CHOICES);
    for (int at = 0; at < answer.length; at += 1000) {
      scanner.read(answer, at, Math.min(answer.length, at + 1000));
    }

    assertThat(scanner.usage()).isEqualTo(new Usage(300, 256, 8));
    assertThat(scanner.aborted()).isFalse();
  }

  @Test
  void longListsAmongTheCountsTakeNoMemory() {
    String logprobs = "[" + "[-0.5,17,\"{\"],".repeat(5_000) + "[-0.5,1,null]]";
    byte[] answer =
        ("{\"text\":\"a\",\"meta_info\":{\"prompt_tokens\":12,\"input_token_logprobs\":"
                + logprobs
                + ",\"completion_tokens\":8,\"cached_tokens\":4}}")
            .getBytes(UTF_8);
    AnswerScanner scanner = new AnswerScanner(Form.COUNTS);
    scanner.read(answer, 0, answer.length);

    assertThat(scanner.usage()).isEqualTo(new Usage(12, 4, 8));
  }

  @Test
  void anAbortedChoiceIsFound() {
    String start =
        "{\"choices\":[{\"index\":0,\"text\":\"x\",\"finish_reason\":\"stop\"},{\"text\":\"";
    assertThat(scan(Form.CHOICES, start + "y\",\"finish_reason\":\"abort\"}]}").aborted()).isTrue();
    assertThat(scan(Form.ANY, start + "y\",\"finish_reason\" : \"abort\"}]}").aborted()).isTrue();
    assertThat(scan(Form.CHOICES, start + "y\",\"finish_reason\":\"length\"}]}").aborted())
        .isFalse();
  }

  @Test
  void textOfTheModelIsNoAbort() {
    String[] texts = {
      "{\"text\":\"abort\",\"finish_reason\":\"stop\"}",
      "{\"text\":\"\\\"finish_reason\\\":\\\"abort\\\"\",\"finish_reason\":\"stop\"}",
      "{\"text\":\"finish_reason:\",\"x\":\"abort\"}",
      "{\"token\":\"\\\"abort\",\"finish_reason\":null}",
      // SGLang reports an abort that was requested
      "{\"finish_reason\":{\"type\":\"abort\",\"message\":\"Aborted\"}}"
    };
    for (String text : texts) {
      assertThat(scan(Form.CHOICES, text).aborted()).as(text).isFalse();
    }
  }

  @Test
  void aMessageWithoutAStopReasonWasAborted() {
    String whole =
        "{\"id\":\"m\",\"type\":\"message\",\"content\":[],\"usage\":{\"input_tokens\":3}";
    assertThat(ended(whole + "}")).isTrue();
    assertThat(ended(whole + ",\"stop_reason\":null}")).isTrue();
    assertThat(ended(whole + ",\"stop_reason\":\"end_turn\"}")).isFalse();
    assertThat(ended("{\"stop_reason\":\"max_tokens\"," + whole.substring(1) + "}")).isFalse();
    assertThat(ended("{\"answer\":1}")).as("no message").isFalse();
    String chat = "{\"finish_reason\":\"stop\",\"usage\":{\"prompt_tokens\":3}}";
    assertThat(ended(chat)).as("a chat in place of a message").isFalse();
  }

  private static boolean ended(String message) {
    AnswerScanner scanner = scan(Form.MESSAGE, message);
    scanner.ended();
    return scanner.aborted();
  }

  @Test
  void aStreamedMessageEndsWithoutAReason() {
    String start =
        "data: {\"type\":\"message_start\",\"message\":{\"content\":[],\"stop_reason\":null,"
            + "\"stop_sequence\":null,\"usage\":{\"input_tokens\":3,\"output_tokens\":0}}}\n\n";
    String delta = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":";
    assertThat(scan(Form.MESSAGE, start).aborted()).isFalse();
    assertThat(scan(Form.MESSAGE, start + delta + "null,\"stop_sequence\":null}}").aborted())
        .isTrue();
    assertThat(scan(Form.MESSAGE, start + delta + "\"end_turn\"}}").aborted()).isFalse();
  }

  @Test
  void aResponseIsAbortedIfItIsCancelledOrHasNoOutput() {
    String usage = "\"usage\":{\"input_tokens\":5,\"output_tokens\":";
    assertThat(scan(Form.RESPONSE, "{\"status\":\"cancelled\"," + usage + "7}}").aborted())
        .isTrue();
    assertThat(scan(Form.RESPONSE, "{\"status\":\"completed\"," + usage + "0}}").aborted())
        .isTrue();
    assertThat(scan(Form.RESPONSE, "{\"status\":\"incomplete\"," + usage + "0}}").aborted())
        .isFalse();
    AnswerScanner complete = scan(Form.RESPONSE, "{\"status\":\"completed\"," + usage + "7}}");
    assertThat(complete.aborted()).isFalse();
    assertThat(complete.unexplained()).isTrue();
    assertThat(scan(Form.RESPONSE, "{\"status\":\"incomplete\"," + usage + "7}}").unexplained())
        .isFalse();
  }

  @Test
  void aStreamedResponseEndsWithAFinalStatusAndNotWithCounts() {
    String counts = "\"usage\":{\"input_tokens\":5,\"output_tokens\":0}}}\n\n";
    String created = "data: {\"response\":{\"status\":\"in_progress\"," + counts;
    AnswerScanner begun = scan(Form.RESPONSE, created);
    assertThat(begun.saidItsEnd()).isFalse();
    assertThat(begun.aborted()).isFalse();
    for (String status : List.of("completed", "incomplete", "failed")) {
      String last = "data: {\"response\":{\"status\":\"" + status + "\",\"output\":[{\"a\":1}]";
      assertThat(scan(Form.RESPONSE, created + last).saidItsEnd()).isFalse();
      assertThat(scan(Form.RESPONSE, created + last + "}}\n\n").saidItsEnd()).isTrue();
      assertThat(scan(Form.RESPONSE, created + last + ",\"usage\":null}}\n\n").saidItsEnd())
          .isTrue();
    }
    String item = "data: {\"item\":{\"status\":\"completed\"},\"status\":\"completed\"}\n\n";
    assertThat(scan(Form.RESPONSE, created + item).saidItsEnd()).isFalse();
  }

  private static EngineEnd end(Form form, String answer) {
    byte[] bytes = answer.getBytes(UTF_8);
    AnswerScanner scanner = new AnswerScanner(form);
    scanner.read(bytes, 0, bytes.length);
    for (int at = 0; at < bytes.length; at++) {
      AnswerScanner parts = new AnswerScanner(form);
      parts.read(bytes, 0, at);
      parts.read(bytes, at, bytes.length);
      assertThat(parts.engineEnd()).as("split at " + at).isEqualTo(scanner.engineEnd());
    }
    assertThat(byByte(form, answer).engineEnd()).isEqualTo(scanner.engineEnd());
    return scanner.engineEnd();
  }

  @ParameterizedTest
  @EnumSource(value = Form.class, names = "COUNTS", mode = EnumSource.Mode.EXCLUDE)
  void errorsThatReportTheEndOfTheEngineAreFound(Form form) {
    String dead = "EngineCore encountered an issue. See stack trace";
    assertThat(end(form, "data: {\"error\": {\"message\": \"" + dead + "\"}}\n\n"))
        .isEqualTo(EngineEnd.DEATH);
    assertThat(end(form, "data: {\"a\":1,\"error\":\"vllm.EngineDeadError\"}\n\n"))
        .isEqualTo(EngineEnd.DEATH);
    assertThat(
            end(form, "data: {\"type\":\"error\",\"code\":\"x\",\"message\":\"" + dead + "\"}\n\n"))
        .isEqualTo(EngineEnd.DEATH);
    assertThat(
            end(form, "{\"error\":{\"message\":\"cannot schedule new futures after shutdown\"}}"))
        .isEqualTo(EngineEnd.SHUTDOWN);
    assertThat(end(form, "{\"text\":\"\\\"error\\\": {" + dead + "\"}")).isEqualTo(EngineEnd.NONE);
    assertThat(end(form, "{\"error\":null,\"text\":\"" + dead + "\"}")).isEqualTo(EngineEnd.NONE);
    assertThat(end(form, "data: {\"error\":{\"message\":\"a\"}}\n\ndata: " + dead + "\n\n"))
        .as("the description ends with its line")
        .isEqualTo(EngineEnd.NONE);
    assertThat(end(form, "{\"error\":{\"x\":\"" + "y".repeat(1100) + "\",\"m\":\"" + dead + "\"}}"))
        .as("bounded")
        .isEqualTo(EngineEnd.NONE);
  }

  @Test
  void countsAfterAnErrorAreRead() {
    assertThat(
            read(
                "data: {\"error\":{\"message\":\"a\"}}\n\ndata: {\"usage\":{\"prompt_tokens\":3,"
                    + "\"completion_tokens\":1}}\n\n"))
        .isEqualTo(new Usage(3, -1, 1));
  }

  /** Members that a client or a model chooses, within an answer. */
  private static final String CHOSEN =
      "{\"status\":\"cancelled\",\"usage\":{\"output_tokens\":0,\"prompt_tokens\":99},"
          + "\"meta_info\":{\"prompt_tokens\":99},\"timings\":{\"prompt_n\":99},"
          + "\"finish_reason\":\"abort\",\"choices\":[{\"finish_reason\":\"abort\"}],"
          + "\"stop_reason\":null,\"delta\":{\"stop_reason\":null},"
          + "\"error\":\"EngineDeadError\",\"type\":\"error\",\"message\":\"EngineDeadError\","
          + "\"response\":{\"status\":\"cancelled\",\"error\":{\"message\":\"EngineDeadError\"}}}";

  static Stream<String> answersWithChosenMembers() {
    String text = '"' + CHOSEN.replace("\"", "\\\"") + '"';
    return Stream.of(CHOSEN, text)
        .flatMap(
            chosen ->
                Stream.of(
                        "{\"metadata\":%s,\"status\":\"incomplete\",\"output\":[%<s],\"tools\":[%<s],"
                            + "\"text\":%<s,\"user\":%<s,\"error\":null}",
                        "{\"type\":\"x\",\"response\":{\"metadata\":%s,\"tools\":[{\"parameters\":%<s}]}}",
                        "{\"type\":\"message\",\"content\":[{\"type\":\"tool_use\",\"input\":%s}],"
                            + "\"stop_reason\":\"end_turn\"}",
                        "{\"type\":\"x\",\"content_block\":{\"input\":%s},\"message\":{\"content\":[%<s]}}",
                        "{\"choices\":[{\"message\":{\"content\":%s,\"tool_calls\":[%<s]},\"logprobs\":%<s,"
                            + "\"finish_reason\":\"stop\"},{\"delta\":{\"content\":%<s,\"x\":%<s}}]}",
                        "{\"choices\":[[%s]],\"delta\":{\"x\":%<s,\"text\":%<s}}",
                        "[[%s]]",
                        "[{\"x\":%s,\"text\":%<s}]")
                    .map(answer -> answer.formatted(chosen)));
  }

  /** One client could otherwise take each engine that it uses out of service. */
  @ParameterizedTest
  @MethodSource("answersWithChosenMembers")
  void membersThatAClientOrAModelChoosesNeverCount(String answer) {
    for (Form form : Form.values()) {
      for (String each : List.of(answer, "event: x\ndata: " + answer + "\n\n")) {
        AnswerScanner scanner = scan(form, each);
        assertThat(scanner.aborted()).as("%s: %s", form, each).isFalse();
        assertThat(scanner.unexplained()).isFalse();
        assertThat(scanner.usage()).isEqualTo(Usage.UNKNOWN);
        assertThat(end(form, each)).as("%s: %s", form, each).isEqualTo(EngineEnd.NONE);
      }
    }
  }

  @Test
  void eventsWithoutNamesChangeNothingForLaterOnes() {
    String quiet = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n";
    String abort = "data: {\"choices\":[{\"finish_reason\":\"abort\"}]}\n\n";
    AnswerScanner scanner = new AnswerScanner(Form.CHOICES);
    for (String part : List.of(quiet, quiet + quiet, "data: {\"x\":", "{}}\n\n", quiet)) {
      scanner.read(part.getBytes(UTF_8), 0, part.length());
      assertThat(scanner.aborted()).isFalse();
    }
    scanner.read(abort.getBytes(UTF_8), 0, abort.length());

    assertThat(scanner.aborted()).isTrue();
  }

  @Test
  void anIncompleteEventEndsWithItsEmptyLine() {
    String usage = "data: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n";
    for (String cut : List.of("{\"a\":[{", "{\"a\":\"b", "{\"usage\":{\"x", "{\"error\":{\"y")) {
      assertThat(read("data: " + cut + "\n\n" + usage)).as(cut).isEqualTo(new Usage(3, -1, 1));
    }
    assertThat(read("event: a{\r\ndata:{\"a\":1}\r\n\r\n" + usage)).isEqualTo(new Usage(3, -1, 1));
  }

  @Test
  void anErrorThatQuotesAClientIsNoEnd() {
    for (String dead : List.of("EngineDeadError", "cannot schedule new futures after shutdown")) {
      for (String error :
          List.of(
              "{\"error\":{\"message\":\"unknown tool: '%s'\",\"param\":\"%<s\",\"code\":400}}",
              "{\"error\":{\"message\":\"\\\"%s\\\"\",\"x\":{\"y\":\"%<s\"}}}",
              "{\"error\":{\"message\":\"a\"},\"metadata\":{\"message\":\"%s\"}}",
              "{\"type\":\"error\",\"message\":\"a\",\"param\":\"%s\"}")) {
        assertThat(end(Form.ANY, "data: " + error.formatted(dead) + "\n\n"))
            .as(error)
            .isEqualTo(EngineEnd.NONE);
      }
    }
  }
}
