package io.pointsman.request.event;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EventReaderTest {
  private static EventKind kind(String event) {
    byte[] bytes = event.getBytes(US_ASCII);
    return EventReader.kind(bytes, bytes.length);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "event: response.created\ndata: {\"response\":{\"id\":\"a\",\"error\":null}}\n\n",
        "event: response.in_progress\r\ndata: {\"response\":{}}\r\n\r\n",
        "data: {\"type\":\"response.queued\",\"response\":{}}\n\n",
        "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        ": keep-alive\n\n",
        "\n",
        "retry: 3000\n\n",
        "event: begin\n\n",
        "event: message_start\r\nid: 1\r\n\r\n"
      })
  void eventsBeforeComputationAreTaken(String event) {
    assertThat(kind(event)).isEqualTo(EventKind.TAKEN);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
            + "\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n",
        "data: {\"choices\":[{\"delta\": {\"role\": \"assistant\", \"content\": null, "
            + "\"tool_calls\": []}, \"finish_reason\": null}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n"
      })
  void eventsWithTheFirstTokenAreComputedNotOutput(String event) {
    assertThat(kind(event)).isEqualTo(EventKind.COMPUTED);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":null}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
            + "\"finish_reason\":\"stop\"}]}\n\n",
        "data:"
            + " {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"tool_calls\":[{\"id\":1}]}}]}\n\n",
        "data: {\"choices\":[{\"text\":\"\\\"error\\\" \"}]}\n\n",
        "data: {\"error\":null,\"choices\":[]}\n\n",
        "event: response.output_item.added\ndata: {}\n\n",
        "data: {\"text\":\"a\",\"meta_info\":{\"finish_reason\":{\"type\":\"abort\"}}}\n\n",
        "data: {\"item\":{\"finish_reason\":{\"type\":\"abort\",\"status_code\":500}}}\n\n",
        "data: [DONE]\n\n",
        "data: one\n\n",
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"cut of",
        "data: {\"choices\":[{\"delta\":{\"role"
      })
  void everythingElseIsOutput(String event) {
    assertThat(kind(event)).isEqualTo(EventKind.OUTPUT);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "data: {\"error\": {\"message\": \"m\", \"type\": \"InternalServerError\", \"code\":"
            + " 500}}\n\n",
        "data: {\"object\":\"error\",\"message\":\"m\",\"code\":\"500\"}\n\n",
        "data: {\"text\":\"\",\"meta_info\":{\"id\":\"a\",\"finish_reason\":{\"type\":\"abort\","
            + "\"message\":\"m\",\"status_code\":500}}}\n\n",
        "event: error\n"
            + "data:"
            + " {\"error\":{\"type\":\"internal_error\",\"message\":\"m\"},\"type\":\"error\"}\n\n",
        "event: response.failed\ndata: {\"response\":{\"error\":{\"code\":\"server_error\"}}}\n\n"
      })
  void errorsOfTheEngineAreRecognized(String event) {
    assertThat(kind(event)).isEqualTo(EventKind.FAILED);
  }

  @Test
  void otherErrorsAreTheClientsOrReportAnOverload() {
    assertThat(kind("data: {\"error\":{\"message\":\"m\",\"code\":400}}\n\n"))
        .isEqualTo(EventKind.REFUSED);
    assertThat(kind("data: {\"error\":{\"message\":\"too long\"}}\n\n"))
        .isEqualTo(EventKind.REFUSED);
    assertThat(kind("data: {\"error\":{\"message\":\"queue full\",\"code\":503}}\n\n"))
        .isEqualTo(EventKind.BUSY);
    assertThat(kind("data: {\"error\":{\"message\":\"full\",\"code\":529}}\n\n"))
        .isEqualTo(EventKind.BUSY);
    assertThat(
            kind(
                "event: error\ndata: {\"type\":\"error\","
                    + "\"error\":{\"type\":\"overloaded_error\",\"message\":\"full\"}}\n\n"))
        .isEqualTo(EventKind.BUSY);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "data: {\"error\":{\"message\":\"tool \\\"internal_search\\\" is not known\","
            + "\"type\":\"invalid_request_error\",\"code\":null}}\n\n",
        "data: {\"error\":{\"message\":\"m\",\"details\":{\"code\":500}}}\n\n",
        "data: {\"object\":\"error\",\"message\":\"server_error\",\"code\":null}\n\n",
        "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{"
            + "\"instructions\":\"call api_error\",\"metadata\":{\"code\":\"server_error\"},"
            + "\"error\":{\"code\":\"invalid_prompt\",\"message\":\"server_error\"}}}\n\n"
      })
  void clientTextInAMessageIsNoErrorType(String event) {
    assertThat(kind(event)).isEqualTo(EventKind.REFUSED);
  }

  @Test
  void anEventThatIsCutWithinItsErrorHasNoType() {
    assertThat(kind("data: {\"error\":{\"message\":\"a\\")).isEqualTo(EventKind.REFUSED);
    assertThat(kind("event: error\ndata: {\"error\":{\"type\":\"api_error"))
        .isEqualTo(EventKind.FAILED);
  }

  @Test
  void theEndOfAStreamShowsItsError() {
    String token = "data: {\"choices\":[{\"text\":\"a\"}]}\n\n";
    String error = "data: {\"error\":{\"message\":\"m\",\"code\":500}}\n\n";
    assertThat(ending(token + error + "data: [DONE]\n\n")).isEqualTo(EventKind.FAILED);
    assertThat(ending(token + "data: [DONE]\n\n")).isEqualTo(EventKind.OUTPUT);
    assertThat(ending(error + token.repeat(8))).isEqualTo(EventKind.OUTPUT);
    assertThat(ending("")).isEqualTo(EventKind.OUTPUT);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "data: {\"type\":\"error\",\"error\":{\"type\":\"internal_error\",\"message\":\"m\"}}\n\n",
        "event: error\ndata: {\"message\":\"m\",\"code\":500,\"type\":\"error\"}\n\n",
        "data:"
            + " {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\"}}}\n\n",
        "event: response.failed\ndata: {\"response\":{\"error\":{\"code\":\"server_error\"}}}\n\n"
      })
  void theEndOfAStreamShowsAnErrorByItsEventName(String error) {
    String before = "event: message_start\ndata: {\"type\":\"message_start\"}\n\n";
    for (String stream : List.of(before + error, error, error + "data: [DONE]\n\n")) {
      assertThat(ending(stream)).isEqualTo(EventKind.FAILED);
      assertThat(ending(stream.replace("\n", "\r\n"))).isEqualTo(EventKind.FAILED);
    }
    String said = "event: delta\ndata: {\"type\":\"text\",\"text\":\"event: error\"}\n\n";
    assertThat(ending(before + said)).isEqualTo(EventKind.OUTPUT);
  }

  private static EventKind ending(String stream) {
    return EventReader.ending(stream.getBytes(US_ASCII));
  }
}
