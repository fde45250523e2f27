package io.pointsman.api.decide;

import io.pointsman.engine.choice.LeaseTerms;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.body.SplitFactsReader;
import io.pointsman.pd.choice.SplitChoice;
import io.pointsman.pd.choice.SplitChoices;
import io.pointsman.pd.plan.PromptLists;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.rule.SplitRequest;
import io.pointsman.proxy.reply.RequestIds;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.reader.ListedHeaders;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ArrayBlockingQueue;

/** Chooses workers for external proxies in a fleet of prefill and decode workers. */
public final class SplitPlacements {
  private static final String ID_HEADER = "x-request-id";

  /** Maximum length of a client's request id; a longer one is replaced. */
  private static final int LONGEST_ID = 256;

  private static final int KEPT = 16;

  /** Replaced as a whole. */
  private volatile Rules rules;

  private final Fleet fleet;
  private final RequestIds ids;

  /**
   * The rules in force.
   *
   * @param idle pool of readers; each has scratch memory
   */
  private record Rules(
      SplitChoices choices,
      String protocol,
      PromptLists lists,
      ArrayBlockingQueue<SplitFactsReader> idle) {
    Rules(SplitChoices choices, String protocol, PromptLists lists) {
      this(choices, protocol, lists, new ArrayBlockingQueue<>(KEPT));
    }
  }

  /**
   * @param protocol configured name of the hand-over protocol
   * @param lists rules for lists of prompts
   */
  public SplitPlacements(
      SplitChoices choices, String protocol, PromptLists lists, Fleet fleet, RandomSource random) {
    rules = new Rules(choices, protocol, lists);
    this.fleet = fleet;
    ids = new RequestIds(List.of(), random);
  }

  /** Uses other rules for later choices; the parameters are those of the constructor. */
  public void use(SplitChoices choices, String protocol, PromptLists lists) {
    rules = new Rules(choices, protocol, lists);
  }

  /**
   * A choice with its protocol.
   *
   * @param request the routing requests for both parts
   */
  record Placed(SplitChoice choice, SplitRequest request, String protocol) {}

  Placed choose(DecideQuestion question, RequestFacts facts, String owner) {
    Rules by = rules;
    SplitRequest request =
        new SplitRequest(
            facts.model(),
            facts.prefix(),
            facts.affinity(),
            facts(by, question, facts),
            facts.fields());
    for (Worker worker : question.excluded(fleet.snapshot())) {
      request.whole().exclude(worker);
      request.wholeByPrefill().exclude(worker);
      request.prefill().exclude(worker);
      request.decode().exclude(worker);
    }
    SplitChoices.Asked asked = new SplitChoices.Asked(request, question.path, id(question));
    request.named(asked.id());
    if (question.dryRun) {
      return new Placed(by.choices.preview(asked), request, by.protocol);
    }
    LeaseTerms terms = question.terms(owner);
    SplitChoice choice = terms == null ? by.choices.point(asked) : by.choices.choose(asked, terms);
    return new Placed(choice, request, by.protocol);
  }

  /** Facts about splitting. A truncated body cannot be edited, so such a request is not split. */
  private static SplitFacts facts(Rules by, DecideQuestion question, RequestFacts facts) {
    if (SplitFactsReader.promptless(facts)) {
      return SplitFacts.ofNoPrompt();
    }
    SplitFactsReader lent = by.idle.poll();
    SplitFactsReader reader = lent == null ? new SplitFactsReader(by.lists) : lent;
    int length = question.truncated ? 0 : question.length;
    SplitFacts read = reader.read(facts.endpoint(), question.body, question.from, length, true);
    by.idle.offer(reader);
    return read;
  }

  private String id(DecideQuestion question) {
    String given = new ListedHeaders(question.headers).first(ID_HEADER);
    boolean usable =
        given != null
            && !given.isEmpty()
            && given.length() <= LONGEST_ID
            && given.chars().allMatch(c -> c > ' ' && c <= '~');
    return usable && given != null ? given : ids.make(question.path);
  }

  /** The reason why a request is not split, as a JSON value. */
  static String name(SplitChoice.One one) {
    return one.needsRouter() || one.rule() == null
        ? "needs_router"
        : one.rule().name().toLowerCase(Locale.ROOT);
  }
}
