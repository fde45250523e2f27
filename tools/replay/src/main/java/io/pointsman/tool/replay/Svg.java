package io.pointsman.tool.replay;

import java.util.Locale;

/** A builder of an SVG drawing. Lengths are pixels from the upper left corner. */
final class Svg {
  private final StringBuilder body = new StringBuilder();

  /** Alignment of a text at its position. */
  enum Anchor {
    START,
    MIDDLE,
    END
  }

  void text(double x, double y, String style, Anchor anchor, String text) {
    body.append(
        String.format(
            Locale.ROOT,
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>%n",
            x,
            y,
            anchor.name().toLowerCase(Locale.ROOT),
            style.isEmpty() ? "" : " " + style,
            escaped(text)));
  }

  void text(double x, double y, String text) {
    text(x, y, "", Anchor.START, text);
  }

  void title(double x, double y, String text) {
    text(x, y, "font-size=\"14\"", Anchor.START, text);
  }

  void rect(double x, double y, double width, double height, String style) {
    body.append(
        String.format(
            Locale.ROOT,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s/>%n",
            x,
            y,
            width,
            height,
            style));
  }

  void line(double fromX, double fromY, double toX, double toY, String style) {
    body.append(
        String.format(
            Locale.ROOT, "<path d=\"M%.1f %.1fL%.1f %.1f\" %s/>%n", fromX, fromY, toX, toY, style));
  }

  /**
   * Draws a line through points, with a gap where a value is NaN.
   *
   * @param y one value for each of {@code x}
   */
  void polyline(double[] x, double[] y, String style) {
    StringBuilder path = new StringBuilder();
    boolean gap = true;
    for (int i = 0; i < x.length; i++) {
      if (!Double.isNaN(y[i])) {
        path.append(String.format(Locale.ROOT, "%s%.1f %.1f", gap ? "M" : "L", x[i], y[i]));
      }
      gap = Double.isNaN(y[i]);
    }
    if (!path.isEmpty()) {
      body.append("<path d=\"%s\" fill=\"none\" %s/>%n".formatted(path, style));
    }
  }

  /** Returns the complete drawing on a white background. */
  String drawn(int width, int height) {
    return """
    <svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" \
    font-family="sans-serif" font-size="11">
    <rect width="100%%" height="100%%" fill="white"/>
    %s</svg>
    """
        .formatted(width, height, body);
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;");
  }
}
