package io.pointsman.tool.replay;

import java.util.Locale;

/**
 * A builder of an SVG drawing, for all plots of the tools. Lengths are pixels from the upper left
 * corner.
 */
public final class Svg {
  private static final String PLAIN = "font-family=\"sans-serif\" font-size=\"11\"";

  private final String style;
  private final StringBuilder body = new StringBuilder();

  /** A drawing in a plain font. */
  public Svg() {
    this(PLAIN);
  }

  /**
   * An empty drawing.
   *
   * @param style attributes that apply to the whole drawing, for example the font
   */
  public Svg(String style) {
    this.style = style;
  }

  /** Alignment of a text at its position. */
  public enum Anchor {
    START,
    MIDDLE,
    END
  }

  /** Adds a text. {@code style} has further attributes; empty: none. */
  public void text(double x, double y, String style, Anchor anchor, String text) {
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

  /** Adds a text that starts at its position. */
  public void text(double x, double y, String text) {
    text(x, y, "", Anchor.START, text);
  }

  /** Adds a title in a larger font. */
  public void title(double x, double y, String text) {
    text(x, y, "font-size=\"14\"", Anchor.START, text);
  }

  /** Adds a rectangle. */
  public void rect(double x, double y, double width, double height, String style) {
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

  /** Adds a straight line. */
  public void line(double fromX, double fromY, double toX, double toY, String style) {
    body.append(
        String.format(
            Locale.ROOT, "<path d=\"M%.1f %.1fL%.1f %.1f\" %s/>%n", fromX, fromY, toX, toY, style));
  }

  /**
   * Draws a line through points, with a gap where a value is NaN.
   *
   * @param y one value for each of {@code x}
   */
  public void polyline(double[] x, double[] y, String style) {
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
  public String drawn(int width, int height) {
    return """
    <svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" %s>
    <rect width="100%%" height="100%%" fill="white"/>
    %s</svg>
    """
        .formatted(width, height, width, height, style, body);
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;");
  }
}
