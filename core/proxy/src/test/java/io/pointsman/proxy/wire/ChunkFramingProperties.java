package io.pointsman.proxy.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Chunk framing of bodies with a known structure, at every split of their bytes. */
class ChunkFramingProperties {
  private static final String EXTRA = "HTTP/1.1 200 OK";

  @Provide
  Arbitrary<List<String>> chunks() {
    return Arbitraries.strings()
        .withChars("ab\r\n0;")
        .ofMinLength(1)
        .ofMaxLength(40)
        .list()
        .ofMaxSize(6);
  }

  private static String framed(List<String> chunks, boolean extension, String trailers) {
    StringBuilder body = new StringBuilder();
    for (String chunk : chunks) {
      body.append(Integer.toHexString(chunk.length())).append(extension ? ";a=\"b\"" : "");
      body.append("\r\n").append(chunk).append("\r\n");
    }
    return body.append("0\r\n").append(trailers).append("\r\n").toString();
  }

  private static ByteBuf bytes(String text) {
    return Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1);
  }

  @Property
  void endIsFoundAtEverySplit(
      @ForAll("chunks") List<String> chunks, @ForAll boolean extension, @ForAll boolean trailer) {
    String body = framed(chunks, extension, trailer ? "x-a: b\r\nx-c: d\r\n" : "");
    ByteBuf all = bytes(body + EXTRA);
    for (int split = 0; split <= body.length(); split++) {
      ChunkFraming framing = new ChunkFraming();
      ByteBuf data = Unpooled.buffer();
      int first = framing.scan(all, 0, split, data);
      int end = split == body.length() ? first : framing.scan(all, split, all.writerIndex(), data);

      assertThat(split < body.length() ? first : ChunkFraming.MORE).isEqualTo(ChunkFraming.MORE);
      assertThat(end).isEqualTo(body.length());
      assertThat(data.toString(StandardCharsets.ISO_8859_1)).isEqualTo(String.join("", chunks));
    }
  }

  @Property
  void cutBodyCanBeCompletedAnywhereBeforeItsLastChunk(
      @ForAll("chunks") List<String> chunks, @ForAll boolean extension) {
    String body = framed(chunks, extension, "");
    int lastChunk = body.length() - "0\r\n\r\n".length();
    for (int cut = 0; cut < body.length(); cut++) {
      ChunkFraming framing = new ChunkFraming();
      ByteBuf whole = bytes(body.substring(0, cut));
      framing.scan(whole, 0, cut, null);
      ByteBuf rest = Unpooled.buffer();

      boolean completed = framing.complete(rest);

      assertThat(completed).isEqualTo(cut <= lastChunk);
      ByteBuf ended = Unpooled.wrappedBuffer(whole, rest, bytes("0\r\n\r\n"));
      if (completed) {
        assertThat(framing.atBorder()).isTrue();
        assertThat(new ChunkFraming().scan(ended, 0, ended.readableBytes(), null))
            .isEqualTo(ended.readableBytes());
      } else {
        assertThat(rest.isReadable()).isFalse();
      }
    }
  }

  @Property
  void bordersAreBetweenChunks(@ForAll("chunks") List<String> chunks) {
    ChunkFraming framing = new ChunkFraming();
    assertThat(framing.atBorder()).isTrue();
    for (String chunk : chunks) {
      ByteBuf in = bytes(Integer.toHexString(chunk.length()) + "\r\n" + chunk + "\r\n");
      int end = in.writerIndex();
      framing.scan(in, 0, end - 1, null);
      assertThat(framing.atBorder()).isFalse();
      framing.scan(in, end - 1, end, null);
      assertThat(framing.atBorder()).isTrue();
      assertThat(framing.border()).isEqualTo(end);
    }
  }

  @Property
  void anythingElseIsMalformedOrUnfinishedButNeverThrows(@ForAll String text) {
    ByteBuf in = bytes(text);
    int end = new ChunkFraming().scan(in, 0, in.writerIndex(), Unpooled.buffer());
    assertThat(end).isGreaterThanOrEqualTo(ChunkFraming.MALFORMED);
    assertThat(end).isLessThanOrEqualTo(in.writerIndex());
  }
}
