package io.pointsman.server.wiring;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.engine.policy.PrioritySettings;
import io.pointsman.engine.policy.RequestFields;
import io.pointsman.proxy.body.RequestEdits;
import io.pointsman.request.BodyVerdict;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.BodyEditor;
import io.pointsman.request.splice.RawJson;
import io.pointsman.request.splice.Splice;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The configured changes to JSON bodies and queries: models in place of aliases and, with the
 * policy {@code priority}, the priority for the engine. Any thread.
 */
final class BodyChanges implements RequestEdits {
  private static final String PRIORITY = "priority";

  private final ThreadLocal<BodyEditor> editors = ThreadLocal.withInitial(BodyEditor::new);

  /** Null if engines get no priority. */
  private volatile @Nullable PrioritySettings priority;

  /** Aliases of the configuration. Guarded by this. */
  private Map<String, String> configured;

  /** Aliases that discovery has found. Guarded by this. */
  private Map<String, String> discovered = Map.of();

  /** All aliases; configured ones win. */
  private volatile Map<String, String> aliases;

  BodyChanges(PointsmanConfig config) {
    configured = config.modelAliases();
    aliases = configured;
    priority = priority(config);
  }

  private static @Nullable PrioritySettings priority(PointsmanConfig config) {
    return config.policy().equals(PRIORITY) ? config.policies().priority() : null;
  }

  /** Takes over a changed configuration. */
  void use(PointsmanConfig next) {
    aliases(next.modelAliases());
    priority = priority(next);
  }

  /** The models by alias. */
  Map<String, String> aliases() {
    return aliases;
  }

  /** Replaces the configured aliases. */
  synchronized void aliases(Map<String, String> next) {
    configured = Map.copyOf(next);
    merge();
  }

  /** Replaces the aliases that discovery has found. */
  synchronized void discovered(Map<String, String> next) {
    discovered = Map.copyOf(next);
    merge();
  }

  private void merge() {
    Map<String, String> all = new HashMap<>(discovered);
    all.putAll(configured);
    aliases = Map.copyOf(all);
  }

  @Override
  public boolean needsModel() {
    return !aliases.isEmpty();
  }

  @Override
  public @Nullable String editTarget(RequestFacts facts, String target) {
    String name = facts.model();
    String model = name == null ? null : aliases.get(name);
    return model == null ? null : RequestFacts.withModel(target, model);
  }

  @Override
  public @Nullable Splice edit(RequestFacts facts, byte[] body, int length, boolean whole) {
    Map<String, String> known = aliases;
    if (known.isEmpty() && priority == null) {
      return null;
    }
    String name = facts.model();
    String model = name == null || !facts.modelSpan().present() ? null : known.get(name);
    Integer given = whole ? priority(facts) : null;
    if (given == null) {
      return model == null
          ? null
          : Splice.replaced(length, facts.modelSpan(), RawJson.string(model));
    }
    List<BodyEdit> edits = new ArrayList<>(2);
    if (model != null) {
      edits.add(BodyEdit.replace(RawJson.string(model), "model"));
    }
    edits.add(BodyEdit.put(RawJson.of(given), PRIORITY));
    return editors.get().edit(body, 0, length, edits);
  }

  /** The priority that the engine must get; null if the body is right. */
  private @Nullable Integer priority(RequestFacts facts) {
    PrioritySettings settings = priority;
    if (settings == null
        || !facts.endpoint().jsonBody()
        || facts.body().kind() != BodyVerdict.Kind.OBJECT) {
      return null;
    }
    RequestFields fields = facts.fields();
    int given = settings.of(fields);
    Object inBody = fields.field(settings.field());
    boolean right =
        settings.field().equals(PRIORITY) && (inBody instanceof Long number && number == given);
    boolean absent = inBody == null && given == 0;
    return right || absent ? null : given;
  }
}
