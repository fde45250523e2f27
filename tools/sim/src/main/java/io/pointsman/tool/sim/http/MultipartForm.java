package io.pointsman.tool.sim.http;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.multipart.DefaultHttpDataFactory;
import io.netty.handler.codec.http.multipart.HttpData;
import io.netty.handler.codec.http.multipart.HttpPostRequestDecoder;
import io.netty.handler.codec.http.multipart.InterfaceHttpData;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The parts of a posted form, in memory; of parts with the same name the last counts. */
public final class MultipartForm {
  private final Map<String, byte[]> parts = new LinkedHashMap<>();

  private MultipartForm() {}

  /**
   * Reads the body of a request.
   *
   * @throws RequestError 400 if it is no form
   */
  public static MultipartForm read(SimExchange exchange) {
    MultipartForm form = new MultipartForm();
    var request =
        new DefaultFullHttpRequest(
            HttpVersion.HTTP_1_1,
            HttpMethod.POST,
            exchange.uri(),
            Unpooled.wrappedBuffer(exchange.body()));
    request.headers().set(exchange.headers());
    HttpPostRequestDecoder decoder = null;
    try {
      decoder = new HttpPostRequestDecoder(new DefaultHttpDataFactory(false), request);
      for (InterfaceHttpData part : decoder.getBodyHttpDatas()) {
        if (part instanceof HttpData data) {
          form.parts.put(data.getName(), data.get());
        }
      }
    } catch (IOException | RuntimeException e) {
      throw RequestError.badRequest("body: not a form (expected: multipart/form-data)", null);
    } finally {
      if (decoder != null) {
        decoder.destroy();
      }
    }
    return form;
  }

  /** The bytes of a part; null if it is absent. */
  public byte @Nullable [] bytes(String name) {
    return parts.get(name);
  }

  /** The text of a part, or {@code otherwise} if it is absent. */
  public String text(String name, String otherwise) {
    byte[] bytes = parts.get(name);
    return bytes == null ? otherwise : new String(bytes, StandardCharsets.UTF_8);
  }
}
