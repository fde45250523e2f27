package io.pointsman.request.splice;

import io.pointsman.engine.disagg.plan.SplitFacts;
import io.pointsman.request.json.JsonText;
import org.jspecify.annotations.Nullable;

/** Scalar values of a body's members, and of the object of sampling parameters within it. */
final class Values {
  private final byte[] body;
  private final JsonMembers members;
  private final @Nullable Values others;

  Values(byte[] body, JsonMembers members) {
    this(body, members, null);
  }

  private Values(byte[] body, JsonMembers members, @Nullable Values others) {
    this.body = body;
    this.members = members;
    this.others = others;
  }

  /** These, and where they have no value the others. */
  Values or(Values others) {
    return new Values(body, members, others);
  }

  /** Whether there is a value that is not null. */
  boolean present(String name) {
    return value(name) != null;
  }

  /** Whether these have a value that engines take for true. */
  boolean isTrue(String name) {
    int i = members.last(name);
    return i >= 0 && JsonText.isTrue(body, members.valueFrom(i), members.valueTo(i));
  }

  /** Whether there is a value that is neither null nor false. */
  boolean wanted(String name) {
    String value = value(name);
    return value != null && !value.equals("false");
  }

  /** Whether there is a value that is neither null, false nor -1, which engines take for none. */
  boolean asked(String name) {
    String value = value(name);
    return value != null && !value.equals("false") && !value.equals("-1");
  }

  /** An integer that is not negative, {@link SplitFacts#ABSENT} or {@link SplitFacts#ODD}. */
  long number(String name) {
    String value = value(name);
    if (value == null) {
      return SplitFacts.ABSENT;
    }
    long number = Arithmetic.parse(value);
    return number < 0 ? SplitFacts.ODD : number;
  }

  private @Nullable String value(String name) {
    int i = members.last(name);
    if (i >= 0 && body[members.valueFrom(i)] != 'n') {
      return members.text(i);
    }
    return others == null ? null : others.value(name);
  }
}
