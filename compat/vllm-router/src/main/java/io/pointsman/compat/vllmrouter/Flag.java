package io.pointsman.compat.vllmrouter;

import java.util.ArrayList;
import java.util.List;

/**
 * One flag of another router's command line.
 *
 * @param names spellings; the usual one first
 * @param shape values that follow the flag
 * @param source launchers or versions of the other router that know the flag
 * @param standard default as text; empty if unset or off
 * @param meaning meaning in the other router
 * @param effect effect in this router
 */
public record Flag(
    List<String> names,
    Shape shape,
    Source source,
    String standard,
    String meaning,
    Effect effect) {

  /** Values that follow a flag. */
  public enum Shape {
    /** No value; the flag is on if present. */
    SWITCH,
    /** One value; the last one wins. */
    VALUE,
    /** Any number of values, up to the next flag; repetitions add up. */
    LIST,
    /** One value; repetitions add up. */
    REPEATED,
    /** One or more values, up to the next flag; repetitions add up. */
    GROUPS
  }

  /** Launchers or versions of another router that know a flag. */
  public enum Source {
    RUST("R"),
    PYTHON("P"),
    BOTH("R P"),
    /** Known only to this router. */
    OWN("-"),
    /** The documented version of the production stack's router. */
    STACK("2026-08"),
    /** Added by release 0.1.13 of the production stack's router. */
    STACK_NEWER("0.1.13"),
    /** Added by a proposed change to the production stack's router. */
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

  /** The usual spelling, with hyphens. */
  public String name() {
    return names.getFirst();
  }

  /** Starts the builder of a flag with one value; its methods change the shape and the rest. */
  public static Builder flag(String name, String meaning) {
    return new Builder(name, meaning);
  }

  /** Builder of a flag. */
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

    /** Sets the default as text. */
    public Builder standard(String standard) {
      this.standard = standard;
      return this;
    }

    /** Builds a flag with the same effect in this router. */
    public Flag honoured(Effect.Action action) {
      return honoured("", action);
    }

    /** Builds a flag with nearly the same effect; the remark describes the difference. */
    public Flag honoured(String remark, Effect.Action action) {
      return build(new Effect.Honoured(remark, action));
    }

    /** Builds a flag that belongs to a missing feature; any value but the default is refused. */
    public Flag later(String feature) {
      return build(new Effect.Later(feature));
    }

    /** Builds a flag that cannot be honoured; any value but the default is refused. */
    public Flag refused(String reason) {
      return build(new Effect.Refused(reason));
    }

    /** Builds a flag that is accepted with any value and without effect. */
    public Flag idle(String reason) {
      return idle(reason, (given, into) -> {});
    }

    /**
     * Builds a flag that is accepted without effect.
     *
     * @param check adds a problem for a value that the other router refuses
     */
    public Flag idle(String reason, Effect.Action check) {
      return build(new Effect.Idle(reason, check));
    }

    private Flag build(Effect effect) {
      return new Flag(names, shape, source, standard, meaning, effect);
    }
  }
}
