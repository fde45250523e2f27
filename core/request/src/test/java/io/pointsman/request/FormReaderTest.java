package io.pointsman.request;

import static io.pointsman.request.Reading.read;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FormReaderTest {
  private static final RequestHeaders HEADERS =
      TestHeaders.of("Content-Type", "multipart/form-data; boundary=----WebKit7MA4");

  private static String part(String disposition, String content) {
    return "------WebKit7MA4\r\nContent-Disposition: form-data; "
        + disposition
        + "\r\n\r\n"
        + content
        + "\r\n";
  }

  private static RequestFacts form(RequestHeaders headers, String body) {
    return read(Endpoint.AUDIO_TRANSCRIPTIONS, headers, body.getBytes(ISO_8859_1), false);
  }

  private static String file() {
    byte[] sound = new byte[100_000];
    new Random(3).nextBytes(sound);
    return part(
        "name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav",
        new String(sound, ISO_8859_1) + "\r\n--\r\n------WebKit7MA");
  }

  @Test
  void theModelIsFoundBeforeAndAfterAFile() {
    String model = part("name=\"model\"", "whisper-1");
    String end = "------WebKit7MA4--\r\n";
    for (String body : new String[] {model + file() + end, file() + model + end}) {
      RequestFacts facts = form(HEADERS, body);
      assertThat(facts.model()).isEqualTo("whisper-1");
      assertThat(facts.body().kind()).isEqualTo(BodyVerdict.Kind.FORM);
      assertThat(facts.stream()).isFalse();
    }
  }

  @Test
  void streamIsRead() {
    String body = part("name=stream", "true") + part("name=\"model\"", "w") + "------WebKit7MA4--";
    assertThat(form(HEADERS, body).stream()).isTrue();
    assertThat(form(HEADERS, body).model()).isEqualTo("w");
  }

  @Test
  void aFileNamedModelIsNotTheModel() {
    String body = part("name=\"model\"; filename=\"x\"", "evil") + "------WebKit7MA4--";
    assertThat(form(HEADERS, body).model()).isNull();
  }

  @Test
  void quotedBoundariesAndPreamblesAreRead() {
    RequestHeaders quoted =
        TestHeaders.of(
            "content-type", "Multipart/Form-Data; charset=UTF-8; boundary=\"----WebKit7MA4\"");
    String body = "preamble\r\n" + part("name=\"model\"", "w") + "------WebKit7MA4--";
    assertThat(form(quoted, body).model()).isEqualTo("w");
  }

  @Test
  void everyCutIsReadWithoutAnException() {
    String body =
        part("name=\"model\"", "whisper-1") + part("name=\"x\"", "y") + "------WebKit7MA4--";
    byte[] bytes = body.getBytes(ISO_8859_1);
    for (int length = 0; length <= bytes.length; length++) {
      RequestFacts facts =
          read(Endpoint.AUDIO_TRANSCRIPTIONS, HEADERS, Arrays.copyOf(bytes, length), true);
      assertThat(facts.model()).isIn("whisper-1", null);
      assertThat(facts.body().kind()).isEqualTo(BodyVerdict.Kind.TRUNCATED);
    }
  }

  @Test
  void formDataOnOtherPathsIsReadToo() {
    String body = part("name=\"model\"", "w") + "------WebKit7MA4--";
    assertThat(read(Endpoint.TRANSPARENT, HEADERS, body).model()).isEqualTo("w");
    assertThat(read(Endpoint.CHAT_COMPLETIONS, HEADERS, body).refusal()).isNotNull();
  }

  @Test
  void theHeaderNamesTheModelOfAFormThatNamesNone() {
    RequestHeaders headers =
        TestHeaders.of(
            "content-type",
            "multipart/form-data; boundary=b",
            "serve_multiplexed_model_id",
            "whisper");
    assertThat(read(Endpoint.AUDIO_TRANSCRIPTIONS, headers, "--b--").model()).isEqualTo("whisper");
  }

  @Test
  void anEmptyModelNamesNone() {
    String body = part("name=\"model\"", "") + "------WebKit7MA4--";
    assertThat(form(HEADERS, body).model()).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "name=\"x\"\r\nContent-Disposition: form-data; name=\"model\"",
        "name=\"x\"; name=\"model\"",
        "name =\"model\"",
        "name= \"model\"",
        "name*=utf-8''model",
        "name*0=\"mo\"; name*1=\"del\"",
        "name=\"model\"; filename*=utf-8''x",
        "name=\"model",
        "name=\"model\" x",
        "x; name=\"model\"",
        ";name=\"model\"",
        "name=\"x\";\r\n name=\"model\"",
        "name=\"x\"\r\nContent-Disposition : form-data; name=\"model\"",
        "name=\"x\"\r\nX: y\nContent-Disposition: form-data; name=\"model\"",
        "x=\"\\\\\"; name=\"y; name=model; z=\"",
        "x=\"\\\\\\\"; name=\"y; name=model; z=\"",
        "name=model\f",
        "name=model\u000b",
        "name=\"model\"\f",
        "name=model\u00a0",
        "name=model\u0085",
        "name=model\u001c",
        "name=<model>",
        "name=",
      })
  void aFormThatServersReadDifferentlyHasNoModel(String disposition) {
    String body = part("name=\"model\"", "m") + part(disposition, "other") + "------WebKit7MA4--";
    assertThat(form(HEADERS, body).model()).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "name=\"model\"; x=\"; filename=y\"",
        "x=\"; name=y\"; name=\"model\"",
        "x=\"\\\"; name=\\\"y\"; name=\"model\"",
        "name=model;",
      })
  void theLastModelCountsAsInEngines(String disposition) {
    String body = part("name=\"model\"", "m") + part(disposition, "other") + "------WebKit7MA4--";
    assertThat(form(HEADERS, body).model()).isEqualTo("other");
  }

  @Test
  void aLongModelIsNotOverlooked() {
    String longer = "other" + " ".repeat(1100);
    String body =
        part("name=\"model\"", "m") + part("name=\"model\"", longer) + "------WebKit7MA4--";
    assertThat(form(HEADERS, body).model()).isNull();
  }

  /** Engines read such a line as content. */
  @ParameterizedTest
  @ValueSource(strings = {"x", " ", "-", "-x"})
  void aDelimiterWithFurtherTextIsAmbiguous(String text) {
    String hidden = "a\r\n------WebKit7MA4" + text + "\r\n";
    String inside = "Content-Disposition: form-data; name=\"model\"\r\n\r\nm";
    String body =
        part("name=\"model\"", "other")
            + part("name=\"x\"", hidden + inside)
            + "------WebKit7MA4--";
    assertThat(form(HEADERS, body).model()).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "multipart/form-data; boundary=----WebKit7MA4; boundary=y",
        "multipart/form-data; boundary=y; boundary=----WebKit7MA4",
        "multipart/form-data; boundary*=utf-8''----WebKit7MA4",
        "multipart/form-datax; boundary=----WebKit7MA4; boundary=y",
        "multipart/form-data; boundary=----WebKit7MA4; charset=utf-7",
        "multipart/form-data; charset=\"cp037\"; boundary=----WebKit7MA4",
        "multipart/form-data; x=\"\\\\\"; boundary=\"----WebKit7MA4\"",
        "multipart/form-data; boundary=----WebKit7MA4\u000b",
      })
  void aFormWithoutOneBoundaryIsNotRead(String type) {
    String body = part("name=\"model\"", "m") + "------WebKit7MA4--";
    assertThat(form(TestHeaders.of("content-type", type), body).model()).isNull();
  }

  @Test
  void namesOfFilesInOtherEncodingsAreUsual() {
    String file = part("name=\"file\"; filename=\"a\\\"b\"; filename*=utf-8''%c3%a4", "RIFF");
    String alone = part("name=\"file\"; filename*=utf-8''%c3%a4", "RIFF");
    for (String each : new String[] {file, alone}) {
      String body = part("name=\"model\"", "w") + each + "------WebKit7MA4--";
      assertThat(form(HEADERS, body).model()).isEqualTo("w");
    }
  }

  @Test
  void jsonOnAFormRouteIsReadAsJson() {
    assertThat(read(Endpoint.AUDIO_TRANSCRIPTIONS, "{\"model\":\"w\"}").model()).isEqualTo("w");
    assertThat(read(Endpoint.AUDIO_TRANSCRIPTIONS, "RIFF....").refusal()).isNull();
  }
}
