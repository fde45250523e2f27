package io.pointsman.tool.bench.plot;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.tool.bench.plot.LinePlot.Line;
import java.io.ByteArrayInputStream;
import java.util.List;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;

class LinePlotTest {
  private static Document parsed(LinePlot plot) throws Exception {
    return DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new ByteArrayInputStream(plot.svg().getBytes(UTF_8)));
  }

  /** The paths of the lines, which are wider than those of the axes. */
  private static List<String> lines(Document svg) {
    NodeList paths = svg.getElementsByTagName("path");
    return IntStream.range(0, paths.getLength())
        .mapToObj(i -> paths.item(i).getAttributes())
        .filter(path -> path.getNamedItem("stroke-width") != null)
        .map(path -> path.getNamedItem("d").getNodeValue())
        .toList();
  }

  @Test
  void everyLineIsDrawnFromItsFirstToItsLastValue() throws Exception {
    Document svg =
        parsed(
            new LinePlot("a < b & c", "s")
                .panel("one", new Line("x", List.of(0.0, 5.0, 10.0), List.of(0.0, 4.0, 8.0)))
                .panel("two", new Line("y", List.of(0.0), List.of(3.0))));

    assertThat(lines(svg)).hasSize(2).startsWith("M70.0 171.0L400.0 111.0L730.0 51.0");
    assertThat(svg.getElementsByTagName("text").item(0).getTextContent()).isEqualTo("a < b & c");
  }

  @Test
  void valuesThatAreNotNumbersAreOmitted() throws Exception {
    Document svg =
        parsed(
            new LinePlot("t", "s")
                .panel("one", new Line("x", List.of(0.0, 5.0), List.of(Double.NaN, 1.0))));

    assertThat(lines(svg)).containsExactly("M730.0 51.0");
  }

  @Test
  void aLineNeedsOneValuePerPosition() {
    assertThatThrownBy(() -> new Line("x", List.of(1.0), List.of()))
        .hasMessage("x: 0 values (expected: 1)");
  }
}
