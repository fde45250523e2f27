package io.pointsman.compat.vllmrouter;

import io.pointsman.config.ConfigException;
import io.pointsman.config.Secrets;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.value.RawValue;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** Flags of {@code serve} that are accepted beside those of another router, and win over them. */
final class OwnFlags {
  private OwnFlags() {}

  /** The flags with names that the other router does not use. */
  static List<Flag> beside(List<Flag> theirs) {
    Set<String> taken =
        theirs.stream().flatMap(flag -> flag.names().stream()).collect(Collectors.toSet());
    List<Flag> own = new ArrayList<>();
    for (Key<?> key : ConfigKeys.all()) {
      if (!taken.contains(key.flag())) {
        own.add(flag(key));
      }
      if (Secrets.hasFileFlag(key) && !taken.contains(key.flag() + Secrets.FILE_SUFFIX)) {
        own.add(fileFlag(key));
      }
    }
    return own;
  }

  private static <T> Flag fileFlag(Key<T> key) {
    String name = key.flag() + Secrets.FILE_SUFFIX;
    return Flag.flag(name, "File with the value of " + key.flag() + ".")
        .shape(Flag.Shape.VALUE)
        .only(Flag.Source.OWN)
        .honoured((given, into) -> readFile(key, name, given.value(), into));
  }

  private static <T> void readFile(Key<T> key, String name, String file, Translation into) {
    try {
      into.own().read(key, new RawValue.Scalar(Secrets.ofFile(name, file), name));
    } catch (ConfigException e) {
      into.problems().addAll(e.problems());
    }
  }

  private static <T> Flag flag(Key<T> key) {
    boolean one = !key.type().repeatable() && key.type().alone().isEmpty();
    return Flag.flag(key.flag(), key.meaning())
        .shape(one ? Flag.Shape.VALUE : Flag.Shape.LIST)
        .only(Flag.Source.OWN)
        .honoured((given, into) -> read(key, given.values(), into));
  }

  private static <T> void read(Key<T> key, List<String> given, Translation into) {
    String text =
        key.type().repeatable()
            ? String.join(",", given)
            : given.isEmpty() ? key.type().alone() : given.getLast();
    try {
      into.own().read(key, new RawValue.Scalar(text, key.flag()));
    } catch (ConfigException e) {
      into.problems().addAll(e.problems());
    }
  }
}
