package io.pointsman.request.handover;

import static java.nio.charset.StandardCharsets.UTF_16;
import static java.nio.charset.StandardCharsets.UTF_16BE;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.request.Endpoint;
import io.pointsman.request.Reading;
import java.nio.charset.Charset;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HandoverScanTest {
  private static boolean found(byte[] body, int size) {
    HandoverScan scan = new HandoverScan();
    boolean found = false;
    for (int from = 0; from < body.length; from += size) {
      found = scan.finds(body, from, Math.min(from + size, body.length));
    }
    return found;
  }

  private static void assertFound(byte[] body, boolean expected) {
    for (int size : new int[] {1, 3, 10_000}) {
      assertThat(found(body, size)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"kv_transfer_params\":{}}",
        " \r\n\t{\"a\":[1,{\"b\":\"}\"}],\"bootstrap_host\" \n: 1}",
        "\uFEFF{\"request_id\":\"a\"}",
        "{\"ec_transfer_params\":{\"remote_host\":\"6.6.6.6\"}}",
        "{\"a\":\"\\\"\",\"k\\u0076_transfer_params\":1}",
        "{\"\\u006b\\u0076\\u005f\\u0074\\u0072\\u0061\\u006e\\u0073\\u0066\\u0065\\u0072"
            + "\\u005f\\u0070\\u0061\\u0072\\u0061\\u006d\\u0073\":1}",
        "{\"vllm_xargs\":{\"kv_transfer_params\":1}}",
        "{\"sampling_params\":{\"extra_args\":{\"kv_transfer_params\":1}}}",
      })
  void anyWayToWriteAMemberIsFound(String body) {
    assertFound(body.getBytes(UTF_8), true);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{}",
        "{\"prompt\":\"\\\"kv_transfer_params\\\":1\"}",
        "{\"prompt\":\"kv_transfer_params\",\"a\":1}",
        "{\"a\":[\"kv_transfer_params\"],\"b\":1}",
        "{\"metadata\":{\"request_id\":1}}",
        "{\"a\":{\"b\":{\"c\":{\"kv_transfer_params\":1}}}}",
        "--b\r\ncontent-disposition: form-data; name=\"kv_transfer_params\"",
        "[{\"kv_transfer_params\":1}]",
        "RIFF {\"kv_transfer_params\":1}",
      })
  void otherBodiesHaveNone(String body) {
    assertFound(body.getBytes(UTF_8), false);
  }

  /** The router does not read these encodings; Python does. */
  @Test
  void jsonInWideCharactersCountsAsFound() {
    List<Charset> wide =
        List.of(UTF_16, UTF_16BE, UTF_16LE, Charset.forName("UTF-32"), Charset.forName("UTF-32LE"));
    for (Charset each : wide) {
      byte[] body = " {\"a\":1}".getBytes(each);
      assertFound(body, true);
      HandoverScan scan = new HandoverScan();
      scan.finds(body, 0, body.length);
      assertThat(scan.isWideText()).as(each.name()).isTrue();
    }
    assertFound(new byte[] {0, 0, 0, 0, 20, '{', '"'}, false);
  }

  @Test
  void aFieldInUtf8IsNoWideText() {
    byte[] body = "{\"kv_transfer_params\":1}".getBytes(UTF_8);
    HandoverScan scan = new HandoverScan();

    assertThat(scan.finds(body, 0, body.length)).isTrue();
    assertThat(scan.isWideText()).isFalse();
  }

  /** Each path is one that the reader of bodies reports, and the names are complete. */
  @Test
  void theReaderReportsEachPath() {
    for (List<String> path : HandoverFields.paths()) {
      String body = "1";
      for (String name : path.reversed()) {
        body = "{\"" + name + "\":" + body + "}";
      }
      assertThat(Reading.chat(body).body().handover()).as(body).isTrue();
      assertFound(body.getBytes(UTF_8), true);
    }
    assertThat(Reading.chat("{\"vllm_xargs\":{\"a\":1},\"a\":2}").body().handover()).isFalse();
    assertThat(Reading.read(Endpoint.GENERATE, "{\"sampling_params\":{}}").body().handover())
        .isFalse();
  }
}
