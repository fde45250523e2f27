package io.pointsman.request.splice;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The changes that edits make to one object: a change for each member, and the new members. */
final class ObjectEdits {
  private static final RawJson EMPTY = RawJson.of("{}");

  private final BodyEditor editor;
  private final byte[] bytes;
  private final JsonMembers members;
  private final @Nullable MemberChange[] changes;
  private final Map<String, RawJson> added = new LinkedHashMap<>();

  ObjectEdits(BodyEditor editor, byte[] bytes, JsonMembers members) {
    this.editor = editor;
    this.bytes = bytes;
    this.members = members;
    changes = new @Nullable MemberChange[members.count()];
  }

  boolean removed(int i) {
    return changes[i] instanceof MemberChange.Removed;
  }

  /** The change of the i-th member; null if it remains unchanged. */
  @Nullable MemberChange change(int i) {
    return changes[i];
  }

  /**
   * The new members as text, each with the comma that precedes it.
   *
   * @param behindOthers true if at least one member remains before them
   */
  List<RawJson> appended(boolean behindOthers) {
    List<RawJson> texts = new ArrayList<>();
    for (Map.Entry<String, RawJson> member : added.entrySet()) {
      String comma = behindOthers || !texts.isEmpty() ? "," : "";
      texts.add(RawJson.of(comma + RawJson.string(member.getKey()) + ":"));
      texts.add(member.getValue());
    }
    return texts;
  }

  void add(BodyEdit edit) {
    String name = edit.path().getFirst();
    boolean found = false;
    for (int i = 0; i < members.count(); i++) {
      if (members.is(i, name)) {
        found = true;
        MemberChange before = changes[i];
        changes[i] = edit.path().size() > 1 ? deep(inner(edit), before, i) : flat(edit, before, i);
      }
    }
    if (!found) {
      addMissing(name, edit);
    }
  }

  private void addMissing(String name, BodyEdit edit) {
    RawJson before = added.get(name);
    if (edit.path().size() > 1) {
      boolean put = edit instanceof BodyEdit.Put;
      if (before != null || put) {
        RawJson base = before == null || (before.isNull() && put) ? EMPTY : before;
        added.put(name, editor.edit(base, List.of(inner(edit))));
      }
      return;
    }
    switch (edit) {
      case BodyEdit.Put put -> added.put(name, value(put));
      case BodyEdit.Replace replace -> added.computeIfPresent(name, (_, _) -> replace.value());
      case BodyEdit.Remove _ -> added.remove(name);
      case BodyEdit.Add add -> added.computeIfPresent(name, (_, v) -> Arithmetic.add(v, add));
      case BodyEdit.Extend extend -> added.computeIfPresent(name, (_, v) -> extended(v, extend));
    }
  }

  private @Nullable MemberChange flat(BodyEdit edit, @Nullable MemberChange before, int i) {
    boolean gone = before instanceof MemberChange.Removed;
    boolean plain = before == null || before instanceof MemberChange.Value;
    return switch (edit) {
      case BodyEdit.Put put -> new MemberChange.Value(value(put));
      case BodyEdit.Replace replace -> gone ? before : new MemberChange.Value(replace.value());
      case BodyEdit.Remove _ -> new MemberChange.Removed();
      case BodyEdit.Add add ->
          plain ? new MemberChange.Value(Arithmetic.add(value(i), add)) : before;
      case BodyEdit.Extend extend -> extend(extend, before, i);
    };
  }

  private @Nullable MemberChange extend(
      BodyEdit.Extend edit, @Nullable MemberChange before, int i) {
    return switch (before) {
      case null -> {
        boolean array = bytes[members.valueFrom(i)] == '[';
        yield array ? new MemberChange.Extended(List.of(element(edit, empty(i)))) : null;
      }
      case MemberChange.Extended(List<RawJson> elements) -> {
        List<RawJson> more = new ArrayList<>(elements);
        more.add(element(edit, false));
        yield new MemberChange.Extended(more);
      }
      case MemberChange.Value(RawJson value) -> new MemberChange.Value(extended(value, edit));
      case MemberChange.Removed _, MemberChange.Inside _ -> before;
    };
  }

  /** The change of the i-th member by an edit inside its value. */
  private @Nullable MemberChange deep(BodyEdit inner, @Nullable MemberChange before, int i) {
    boolean put = inner instanceof BodyEdit.Put;
    return switch (before) {
      case null -> {
        byte first = bytes[members.valueFrom(i)];
        if (first == '{') {
          yield new MemberChange.Inside(List.of(inner));
        }
        boolean absent = first == 'n' && put;
        yield absent ? new MemberChange.Value(editor.edit(EMPTY, List.of(inner))) : null;
      }
      case MemberChange.Inside(List<BodyEdit> edits) -> {
        List<BodyEdit> more = new ArrayList<>(edits);
        more.add(inner);
        yield new MemberChange.Inside(more);
      }
      case MemberChange.Value(RawJson value) -> {
        RawJson base = value.isNull() && put ? EMPTY : value;
        yield new MemberChange.Value(editor.edit(base, List.of(inner)));
      }
      case MemberChange.Removed _ ->
          put ? new MemberChange.Value(editor.edit(EMPTY, List.of(inner))) : before;
      case MemberChange.Extended _ -> before;
    };
  }

  private RawJson value(BodyEdit.Put put) {
    return put.within().isEmpty() ? put.value() : editor.edit(put.value(), put.within());
  }

  private RawJson value(int i) {
    return changes[i] instanceof MemberChange.Value(RawJson value)
        ? value
        : RawJson.copyOf(bytes, members.valueFrom(i), members.valueTo(i));
  }

  private boolean empty(int i) {
    for (int at = members.valueFrom(i) + 1; at < members.valueTo(i) - 1; at++) {
      if (bytes[at] > ' ') {
        return false;
      }
    }
    return true;
  }

  private static RawJson element(BodyEdit.Extend edit, boolean first) {
    return first ? edit.element() : RawJson.of("," + edit.element());
  }

  private static RawJson extended(RawJson value, BodyEdit.Extend edit) {
    String text = value.toString();
    if (!text.startsWith("[")) {
      return value;
    }
    String content = text.substring(1, text.length() - 1);
    String comma = content.isBlank() ? "" : ",";
    return RawJson.of("[" + content + comma + edit.element() + "]");
  }

  /** The edit with its path relative to the first member of the path. */
  private static BodyEdit inner(BodyEdit edit) {
    List<String> path = edit.path().subList(1, edit.path().size());
    return switch (edit) {
      case BodyEdit.Put put -> new BodyEdit.Put(path, put.value(), put.within());
      case BodyEdit.Replace replace -> new BodyEdit.Replace(path, replace.value());
      case BodyEdit.Remove _ -> new BodyEdit.Remove(path);
      case BodyEdit.Add add -> new BodyEdit.Add(path, add.amount(), add.least());
      case BodyEdit.Extend extend -> new BodyEdit.Extend(path, extend.element());
    };
  }
}
