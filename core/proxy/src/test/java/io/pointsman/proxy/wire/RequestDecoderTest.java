package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.pointsman.proxy.wire.DecodedRequest.End;
import io.pointsman.proxy.wire.RequestHead.HeadFault;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that the decoder refuses, with the reasons. */
class RequestDecoderTest {
  private static final String POST = "POST /x HTTP/1.1\r\nhost: h\r\n";

  private static List<DecodedRequest> decode(String text) {
    return Decoders.own(text.getBytes(ISO_8859_1));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "x: y\r\n folded\r\n",
        "x: y\r\n\tfolded\r\n",
        "x : y\r\n",
        "x\r\n",
        ": y\r\n",
        "x: y\n",
        "x: y\rz\r\n",
        "x: \u0000\r\n",
        "x: \u0001\r\n",
        "x: \u007f\r\n",
        "x(: y\r\n",
        "caf\u00e9: y\r\n",
        "content-length: 1\r\ncontent-length: 1\r\n",
        "content-length: 1\r\ntransfer-encoding: chunked\r\n",
        "content-length: 1,1\r\n",
        "content-length: \r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: gzip, chunked\r\n",
        "transfer-encoding: \r\n",
        "host: other\r\n"
      })
  void headersThatServersReadDifferentlyAreRefused(String lines) {
    assertThat(decode(POST + lines + "\r\n").getFirst().end).isEqualTo(End.REFUSED);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "POST  /x HTTP/1.1",
        "POST /x  HTTP/1.1",
        " POST /x HTTP/1.1",
        "POST\t/x HTTP/1.1",
        "POST /x HTTP/1.1 ",
        "POST /x y HTTP/1.1",
        "POST /\u0000 HTTP/1.1",
        "POST /x http/1.1",
        "POST /x HTTP/11",
        "POST /x",
        "(OST /x HTTP/1.1",
        "POST x HTTP/1.1",
        "POST x?u=http://h/y HTTP/1.1",
        "POST ftp://h/x HTTP/1.1",
        "POST http:///x HTTP/1.1",
        "POST http://?x HTTP/1.1",
        "POST http://h#/x HTTP/1.1",
        "POST http://h/x#y HTTP/1.1",
        "POST /x#y HTTP/1.1",
        "POST /\u00e9 HTTP/1.1",
        "POST /\u0080 HTTP/1.1",
        "POST /\u007f HTTP/1.1",
        "POST ://h/x HTTP/1.1"
      })
  void otherRequestLinesAreRefused(String line) {
    assertThat(decode(line + "\r\nhost: h\r\n\r\n").getFirst().end).isEqualTo(End.REFUSED);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "zz\r\n",
        "\r\n",
        "5 \r\nabcde\r\n",
        "5;\r\n",
        "5;a=\r\n",
        "5;a=\"b\r\nabcde\r\n",
        "5;a=\"b\\\"c\"\r\n",
        "5;a=\"b\"c\r\n",
        "5;a=b=c\r\n",
        "5\n",
        "80000000\r\n",
        "FFFFFFFFFFFFFFFF\r\n",
        "1\r\nab",
        "1\r\na\n",
        "0\r\nx\r\n",
        "0\r\n: y\r\n",
        "0\r\nx: \u0000\r\n",
        "0\r\ncontent-length: 5\r\n",
        "0\r\nx: y\r\nTransfer-Encoding: chunked\r\n",
        "0\r\nhost: other\r\n"
      })
  void otherChunksAreRefused(String chunks) {
    String text = POST + "transfer-encoding: chunked\r\n\r\n" + chunks;
    assertThat(decode(text).getFirst().end).isEqualTo(End.REFUSED);
  }

  @Test
  void completeUrlsUnusualBytesAndLeadingEmptyLinesAreAccepted() {
    String text = "\r\nGET http://h/|{\"?q HTTP/1.0\r\nx:\t\u00e9 \r\n\r\n";
    assertThat(decode(text)).hasToString("[COMPLETE GET /|{\"?q HTTP/1.0 [x=\u00e9] ]");
  }

  @ParameterizedTest
  @CsvSource({
    "GET http://h, GET /",
    "GET http://h:1/, GET /",
    "GET http://h/x?y=http://i/z, GET /x?y=http://i/z",
    "GET http://h?a=b, GET /?a=b",
    "GET http://h?next=/health, GET /?next=/health",
    "GET HTTPS://[::1]:1//x, GET //x",
    "GET /x?u=http://h/y, GET /x?u=http://h/y",
    "OPTIONS http://h, OPTIONS *",
    "OPTIONS http://h/, OPTIONS /"
  })
  void onlyThePartAfterTheAuthorityOfACompleteUrlCounts(String sent, String read) {
    String text = sent + " HTTP/1.1\r\nhost: h\r\n\r\n";
    assertThat(decode(text)).hasToString("[COMPLETE " + read + " HTTP/1.1 [host=h] ]");
  }

  @Test
  void nothingIsDecodedAfterAFault() {
    String next = "GET /smuggled HTTP/1.1\r\nhost: h\r\n\r\n";
    assertThat(decode(POST + "x : y\r\n\r\n" + next)).hasSize(1);
    assertThat(decode(POST + "transfer-encoding: chunked\r\n\r\nz\r\n" + next)).hasSize(1);
  }

  @Test
  void tooLargeHeadsAreRefusedBeforeTheirEnd() {
    assertThat(fault("GET /" + "x".repeat(Decoders.MAX_LINE))).isEqualTo(HeadFault.URI_TOO_LONG);
    assertThat(fault(POST + "x: " + "y".repeat(Decoders.MAX_HEADERS)))
        .isEqualTo(HeadFault.HEADERS_TOO_LARGE);
    assertThat(fault(POST + "x: y\r\n".repeat(Decoders.MAX_HEADERS / 6)))
        .isEqualTo(HeadFault.HEADERS_TOO_LARGE);
    assertThat(fault("\r\n".repeat(20))).isEqualTo(HeadFault.MALFORMED);
    assertThat(fault("GET /x HTTP/2.0\r\n\r\n")).isEqualTo(HeadFault.VERSION);
    assertThat(fault(POST + "expect: other\r\n\r\n")).isEqualTo(HeadFault.EXPECTATION);
  }

  @Test
  void trailersWithOtherNamesAreDropped() {
    String trailers = "x: y\r\nhosts: z\r\ncontent-lengths: 5\r\ntransfer-encoding-: a\r\n\r\n";
    String text = POST + "transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n" + trailers;
    assertThat(decode(text).getFirst().end).isEqualTo(End.COMPLETE);
  }

  @Test
  void tooManyLinesAndConnectionOptionsAreRefused() {
    int most = RequestParser.MOST_LINES;
    String lines = "a:\r\n".repeat(most - 1);
    assertThat(RequestHeads.of(POST + lines + "\r\n").fault()).isNull();
    assertThat(large(POST + lines + "a:\r\n\r\n")).isEqualTo(HeadFault.HEADERS_TOO_LARGE);
    String options = "close, ,keep-alive" + ",a".repeat(ConnectionOptions.MOST_NAMES);
    assertThat(RequestHeads.of(POST + "connection: " + options + "\r\n\r\n").fault()).isNull();
    assertThat(fault(POST + "connection: " + options + "\r\nconnection: b\r\n\r\n"))
        .isEqualTo(HeadFault.MALFORMED);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "GET /x HTTP/1.1\\r\\n\\r\\n | host: missing (expected: one)",
        "GET /x HTTP/1.1\\r\\nhost: a\\r\\nhost: b\\r\\n\\r\\n | host: appears more than once",
        "P\\r\\nauthorization: a\\r\\nAuthorization: a\\r\\n\\r\\n | authorization: appears more",
        "P\\r\\nx-api-key: a\\r\\nx-api-key: a\\r\\n\\r\\n | x-api-key: appears more than once",
        "P\\r\\norigin: a\\r\\norigin: a\\r\\n\\r\\n | origin: appears more than once",
        "P\\r\\ncontent-length: 5, 5\\r\\n\\r\\n | content-length: invalid",
        "P\\r\\ntransfer-encoding: gzip\\r\\n\\r\\n | transfer-encoding: invalid",
        "P\\r\\nx y: z\\r\\n\\r\\n | header name: invalid",
        "P\\r\\nx: y\\n\\r\\n | header value: line end (expected: CRLF)",
        "P\\r\\nx: <1>\\r\\n\\r\\n | header value: control character",
        "GET /x http/1.1\\r\\n\\r\\n | request line: invalid (expected: METHOD /path HTTP/1.1)",
        "GET /a%0Ab HTTP/1.1\\r\\nhost: h\\r\\n\\r\\n | request target: invalid",
        "<16><3><1> | request: TLS on a port without TLS",
      })
  void aMalformedHeadHasItsReason(String escaped, String reason) {
    String text = escaped.replaceFirst("^P", "POST /x HTTP/1.1\r\nhost: h").translateEscapes();
    Heads heads = new Heads();
    new RequestDecoder(
            heads,
            UnpooledByteBufAllocator.DEFAULT,
            byte[]::new,
            Decoders.MAX_LINE,
            Decoders.MAX_HEADERS)
        .decode(Unpooled.wrappedBuffer(unescaped(text).getBytes(ISO_8859_1)));
    RequestHead head = heads.all.getFirst();
    assertThat(head.fault()).isEqualTo(HeadFault.MALFORMED);
    assertThat(head.problem()).startsWith(reason);
  }

  /** {@code translateEscapes} leaves the escapes of characters. */
  private static String unescaped(String text) {
    return text.replace("<1>", "\u0001").replace("<16>", "\u0016").replace("<3>", "\u0003");
  }

  private static HeadFault large(String text) {
    return fault(text, 64 << 10);
  }

  private static HeadFault fault(String text) {
    return fault(text, Decoders.MAX_HEADERS);
  }

  private static HeadFault fault(String text, int maxHeaders) {
    Heads heads = new Heads();
    byte[] bytes = text.getBytes(ISO_8859_1);
    new RequestDecoder(
            heads, UnpooledByteBufAllocator.DEFAULT, byte[]::new, Decoders.MAX_LINE, maxHeaders)
        .decode(Unpooled.wrappedBuffer(bytes));
    HeadFault fault = heads.all.getFirst().fault();
    assertThat(fault).isNotNull();
    return fault == null ? HeadFault.MALFORMED : fault;
  }

  private static final class Heads implements RequestDecoder.Sink {
    private final List<RequestHead> all = new ArrayList<>();

    @Override
    public boolean takesMore() {
      return true;
    }

    @Override
    public void head(RequestHead head) {
      all.add(head);
    }

    @Override
    public void content(ByteBuf part) {
      part.release();
    }

    @Override
    public void end() {}

    @Override
    public void broken() {}
  }
}
