package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The router's request decoder and Netty's, for comparison. */
final class Decoders {
  static final int MAX_LINE = 512;
  static final int MAX_HEADERS = 2048;

  /** Also limits the lines of chunks; their extensions have their own limit. */
  private static final int NETTYS_MAX_LINE = 8192;

  private Decoders() {}

  /** Decodes with the router's decoder, cut at the given indexes. */
  static List<DecodedRequest> own(byte[] bytes, int... cuts) {
    Collector collector = new Collector();
    RequestDecoder decoder =
        new RequestDecoder(
            collector, UnpooledByteBufAllocator.DEFAULT, byte[]::new, MAX_LINE, MAX_HEADERS);
    int from = 0;
    for (int cut : cuts) {
      decoder.decode(Unpooled.copiedBuffer(bytes, from, cut - from));
      from = cut;
    }
    decoder.decode(Unpooled.copiedBuffer(bytes, from, bytes.length - from));
    return collector.requests;
  }

  private static final class Collector implements RequestDecoder.Sink {
    private final List<DecodedRequest> requests = new ArrayList<>();

    @Override
    public boolean takesMore() {
      return true;
    }

    @Override
    public void head(RequestHead head) {
      DecodedRequest request = new DecodedRequest();
      requests.add(request);
      request.line = line(head.method(), head.uri(), head.http10() ? "HTTP/1.0" : "HTTP/1.1");
      head.forEach((name, value) -> request.headers.add(header(name, value)));
      if (head.fault() != null) {
        request.end = DecodedRequest.End.REFUSED;
      }
    }

    @Override
    public void content(ByteBuf part) {
      requests.getLast().body.append(part.toString(ISO_8859_1));
      part.release();
    }

    @Override
    public void end() {
      requests.getLast().end = DecodedRequest.End.COMPLETE;
    }

    @Override
    public void broken() {
      requests.getLast().end = DecodedRequest.End.REFUSED;
    }
  }

  private static String line(String method, String uri, String version) {
    return method + " " + uri + " " + version;
  }

  private static String header(CharSequence name, CharSequence value) {
    return name.toString().toLowerCase(Locale.ROOT) + "=" + value;
  }

  /** Decodes with Netty's decoder in strict mode. */
  static List<DecodedRequest> netty(byte[] bytes) {
    HttpDecoderConfig config =
        new HttpDecoderConfig()
            .setMaxInitialLineLength(NETTYS_MAX_LINE)
            .setMaxHeaderSize(MAX_HEADERS)
            .setAllowDuplicateContentLengths(false)
            .setStrictLineParsing(true);
    EmbeddedChannel channel = new EmbeddedChannel(new KeepsBothFramings(config));
    channel.writeInbound(Unpooled.copiedBuffer(bytes));
    List<DecodedRequest> requests = new ArrayList<>();
    Object message;
    while ((message = channel.readInbound()) != null) {
      take(message, requests);
      ReferenceCountUtil.release(message);
    }
    channel.finishAndReleaseAll();
    return requests;
  }

  private static void take(Object message, List<DecodedRequest> requests) {
    if (message instanceof HttpRequest head) {
      DecodedRequest request = new DecodedRequest();
      requests.add(request);
      String method = head.method().name();
      String uri = originForm(method, head.uri());
      request.line = line(method, uri, head.protocolVersion().text());
      head.headers()
          .iteratorCharSequence()
          .forEachRemaining(h -> request.headers.add(header(h.getKey(), h.getValue())));
      if (head.decoderResult().isFailure()) {
        request.end = DecodedRequest.End.REFUSED;
      }
    }
    if (message instanceof HttpContent content && !requests.isEmpty()) {
      DecodedRequest request = requests.getLast();
      request.body.append(content.content().toString(ISO_8859_1));
      if (content.decoderResult().isFailure()) {
        request.end = DecodedRequest.End.REFUSED;
      } else if (content instanceof LastHttpContent && request.end == DecodedRequest.End.OPEN) {
        request.end = DecodedRequest.End.COMPLETE;
      }
    }
  }

  private static final Pattern WHOLE_URL = Pattern.compile("(?i)https?://[^/?#]+(|[/?].*)");

  private static String originForm(String method, String target) {
    Matcher url = WHOLE_URL.matcher(target);
    if (!url.matches()) {
      return target;
    }
    String rest = url.group(1);
    return rest.startsWith("/")
        ? rest
        : rest.isEmpty() && method.equals("OPTIONS") ? "*" : "/" + rest;
  }

  private static final class KeepsBothFramings extends HttpRequestDecoder {
    KeepsBothFramings(HttpDecoderConfig config) {
      super(config);
    }

    @Override
    protected void handleTransferEncodingChunkedWithContentLength(HttpMessage message) {}
  }
}
