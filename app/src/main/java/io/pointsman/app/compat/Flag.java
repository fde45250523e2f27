package io.pointsman.app.compat;

import java.util.ArrayList;
import java.util.List;

/**
 * One flag of another router's command line.
 *
 * @param names how it is written, the usual spelling first
 * @param shape what follows it
 * @param source which of the other router's launchers know it
 * @param standard its default, as it would be written; empty if it is unset or off by default
 * @param meaning what it decides there
 * @param effect what it does here
 */
public record Flag(
    List<String> names,
    Shape shape,
    Source source,
    String standard,
    String meaning,
    Effect effect) {

  /** What follows a flag. */
  public enum Shape {
    /** Nothing: it is on when given. */
    SWITCH,
    /** One value; the last one counts. */
    VALUE,
    /** Any number of values each time, up to the next flag; all of them count. */
    LIST,
    /** One value each time; all of them count. */
    REPEATED,
    /** One value or more each time; all of them count. */
    GROUPS
  }

  /** Which launchers, or versions, of another router know a flag. */
  public enum Source {
    RUST("R"),
    PYTHON("P"),
    BOTH("R P"),
    /** Only this router's launcher does. */
    OWN("-"),
    /** The version of the production stack's router that is described. */
    STACK("2026-08"),
    /** What its release 0.1.13 added to that. */
    STACK_NEWER("0.1.13"),
    /** A change of it that is proposed. */
    STACK_PROPOSED("proposed");

    private final String mark;

    Source(String mark) {
      this.mark = mark;
    }

    public String mark() {
      return mark;
    }
  }

  public Flag {
    names = List.copyOf(names);
  }

  /** The usual spelling, with its hyphens. */
  public String name() {
    return names.getFirst();
  }

  /** Starts a flag of one value; the other shapes and the rest are chosen on the way. */
  public static Builder flag(String name, String meaning) {
    return new Builder(name, meaning);
  }

  /** Collects a flag. */
  public static final class Builder {
    private final List<String> names = new ArrayList<>();
    private final String meaning;
    private Shape shape = Shape.VALUE;
    private Source source = Source.BOTH;
    private String standard = "";

    private Builder(String name, String meaning) {
      names.add(name);
      this.meaning = meaning;
    }

    public Builder alias(String name) {
      names.add(name);
      return this;
    }

    public Builder shape(Shape shape) {
      this.shape = shape;
      return this;
    }

    public Builder only(Source source) {
      this.source = source;
      return this;
    }

    /** Its default, as it would be written. */
    public Builder standard(String standard) {
      this.standard = standard;
      return this;
    }

    /** It does the same here. */
    public Flag honoured(Effect.Action action) {
      return honoured("", action);
    }

    /** It does the same here, with a remark. */
    public Flag honoured(String remark, Effect.Action action) {
      return build(new Effect.Honoured(remark, action));
    }

    /** It is refused, unless it says its default, since it belongs to {@code feature}. */
    public Flag later(String feature) {
      return build(new Effect.Later(feature));
    }

    /** It is refused because it cannot mean anything here. */
    public Flag refused(String reason) {
      return build(new Effect.Refused(reason));
    }

    /** It is accepted and does nothing. */
    public Flag idle(String reason) {
      return build(new Effect.Idle(reason));
    }

    private Flag build(Effect effect) {
      return new Flag(names, shape, source, standard, meaning, effect);
    }
  }
}
