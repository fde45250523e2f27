package io.pointsman.api.decide;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import io.pointsman.api.admin.Json;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.plan.HandoverForm;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.pd.plan.Terms;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.RawJson;
import java.util.List;
import java.util.Locale;

/**
 * A plan for two workers as JSON: the requests to send, and the parts of the prefill response in
 * them.
 */
final class PlanJson {
  private static final String PARAMS = "kv_transfer_params";

  private PlanJson() {}

  /**
   * @param decode the chosen decode worker
   */
  static ObjectNode of(String protocol, PdPlan plan, Worker decode) {
    ObjectNode node = Json.object();
    node.put("protocol", protocol);
    switch (plan) {
      case PdPlan.Sequential sequential -> {
        HandoverForm form = HandoverForm.of(sequential, decode);
        terms(node.put("order", "sequential"), sequential.terms());
        node.set("prefill", step(sequential.prefill()));
        node.set("decode", decode(form));
        release(node, sequential.terms());
      }
      case PdPlan.Concurrent concurrent -> {
        terms(node.put("order", "concurrent"), concurrent.terms());
        node.set("prefill", step(concurrent.prefill()));
        node.set("decode", step(concurrent.decode()));
        release(node, concurrent.terms());
      }
      case PdPlan.Unplanned(Worker worker, String missing) ->
          throw new IllegalStateException(worker + ": " + missing + " is unknown");
    }
    return node;
  }

  private static void terms(ObjectNode node, Terms terms) {
    node.put("bond", word(terms.bond()));
    if (terms.release() != Terms.Release.NOTHING) {
      node.put("handover_ms", terms.lease().toMillis());
    }
    node.put("release", word(terms.release()));
  }

  private static void release(ObjectNode node, Terms terms) {
    switch (terms.release()) {
      case SEND_DECODE, SEND_ONCE, CANCEL_OR_SEND ->
          node.set("release_edits", edits(terms.releasing()));
      case NOTHING, CANCEL_BOTH -> {}
    }
  }

  private static String word(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  private static ObjectNode step(PdStep step) {
    ObjectNode node = Json.object();
    node.put("path", step.path());
    ObjectNode headers = node.putObject("headers");
    step.headers().forEach(header -> headers.put(header.name(), header.value()));
    node.set("edits", edits(step.edits()));
    return node;
  }

  private static ObjectNode decode(HandoverForm form) {
    ObjectNode node = step(form.usual());
    if (!form.loopback().equals(form.usual())) {
      node.set("edits_if_loopback", edits(form.loopback().edits()));
    }
    if (!form.without().equals(form.usual())) {
      node.set("edits_without_params", edits(form.without().edits()));
    }
    return node;
  }

  private static ArrayNode edits(List<BodyEdit> edits) {
    ArrayNode nodes = Json.MAPPER.createArrayNode();
    edits.forEach(edit -> nodes.add(edit(edit)));
    return nodes;
  }

  private static ObjectNode edit(BodyEdit edit) {
    ObjectNode node = Json.object();
    ArrayNode path = Json.MAPPER.createArrayNode();
    edit.path().forEach(path::add);
    switch (edit) {
      case BodyEdit.Put put -> {
        value(node.put("op", "put"), put.value());
        if (!put.within().isEmpty()) {
          node.set("within", edits(put.within()));
        }
      }
      case BodyEdit.Replace replace -> value(node.put("op", "replace"), replace.value());
      case BodyEdit.Remove _ -> node.put("op", "remove");
      case BodyEdit.Add add ->
          node.put("op", "add").put("amount", add.amount()).put("least", add.least());
      case BodyEdit.Extend extend -> value(node.put("op", "extend"), extend.element());
    }
    node.set("path", path);
    return node;
  }

  /** Adds a literal value, or its path in the prefill response. */
  @SuppressWarnings("ReferenceEquality") // these constants are compared by identity
  private static void value(ObjectNode node, RawJson value) {
    if (value == HandoverForm.ANSWER) {
      node.putArray("from");
    } else if (value == HandoverForm.PARAMS) {
      node.putArray("from").add(PARAMS);
    } else {
      node.putRawValue("value", new RawValue(value.toString()));
    }
  }
}
