package io.pointsman.pd.body;

import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.request.json.JsonText;
import io.pointsman.request.splice.Arithmetic;
import io.pointsman.request.splice.JsonMembers;
import org.jspecify.annotations.Nullable;

/** Scalar values of a body's members. Its sampling parameters supply names that are absent. */
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

  /** These values, with {@code others} for names without a value. */
  Values or(Values others) {
    return new Values(body, members, others);
  }

  /** True if there is a value other than null. */
  boolean present(String name) {
    return value(name) != null;
  }

  /** True if these values, without the others, have one that engines read as true. */
  boolean isTrue(String name) {
    int i = members.last(name);
    return i >= 0 && JsonText.isTrue(body, members.valueFrom(i), members.valueTo(i));
  }

  /** True if there is a value other than null and false. */
  boolean wanted(String name) {
    String value = value(name);
    return value != null && !value.equals("false");
  }

  /** True if there is a value other than null, false and -1. Engines read -1 as absent. */
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
