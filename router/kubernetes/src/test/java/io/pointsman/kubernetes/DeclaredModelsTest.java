package io.pointsman.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.kubernetes.DeclaredModels.Declared;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DeclaredModelsTest {
  private final DeclaredModels names = new DeclaredModels(KubernetesSettings.DEFAULTS);

  private static ObjectMetaBuilder meta(String name) {
    return new ObjectMetaBuilder().withNamespace("a").withName(name);
  }

  @Test
  void anAnnotationWinsOverALabel() {
    ObjectMeta both =
        meta("x")
            .addToLabels("pointsman.io/model", "of-label")
            .addToAnnotations("pointsman.io/model", "org/of-annotation, second,,")
            .build();
    assertThat(names.of(both, null).models()).containsExactly("org/of-annotation", "second");
    ObjectMeta label = meta("x").addToLabels("pointsman.io/model", "of-label").build();
    assertThat(names.models(label)).containsExactly("of-label");
    assertThat(names.models(meta("x").build())).isEmpty();
  }

  @Test
  void theTemplateOfPodsCompletesAWorkload() {
    ObjectMeta pods =
        meta("")
            .addToAnnotations("pointsman.io/model", "of-pods")
            .addToAnnotations("pointsman.io/model-aliases", "fast")
            .build();
    ObjectMeta own = meta("x").addToAnnotations("pointsman.io/model", "own").build();
    assertThat(names.of(own, pods)).isEqualTo(new Declared("a/x", List.of("own"), List.of("fast")));
    assertThat(names.of(meta("x").build(), pods).models()).containsExactly("of-pods");
  }

  @Test
  void theFirstObjectOwnsAnAlias() {
    Declared one = new Declared("a/1", List.of("m1", "m2"), List.of("fast", "only"));
    Declared two = new Declared("a/2", List.of("m3"), List.of("fast", "m1", "other"));
    Declared none = new Declared("a/3", List.of(), List.of("lost"));
    assertThat(DeclaredModels.aliases(List.of(none, two, one)))
        .isEqualTo(Map.of("fast", "m1", "only", "m1", "other", "m3"));
    assertThat(DeclaredModels.models(List.of(none, two, one))).containsExactly("m1", "m2", "m3");
  }

  @Test
  void theNumberOfNamesIsBounded() {
    String many = String.join(",", Collections.nCopies(1, "m"));
    StringBuilder text = new StringBuilder(many);
    for (int i = 0; i < 200; i++) {
      text.append(",m").append(i);
    }
    ObjectMeta meta = meta("x").addToAnnotations("pointsman.io/model", text.toString()).build();
    assertThat(names.of(meta, null).models()).hasSize(DeclaredModels.MOST_NAMES);
  }
}
