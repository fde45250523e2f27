package io.pointsman.pd.execution;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.pd.plan.Conversation;
import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Detection of the turns of one conversation: chats of the same caller with the same session
 * header. Thread-safe.
 */
public final class Conversations {
  private volatile Names names;

  /**
   * Names of headers in lower case.
   *
   * @param session header with the id of a session
   * @param owners headers that identify the caller
   */
  private record Names(String session, List<String> owners) {
    static Names of(AffinitySettings settings) {
      List<String> owners = new ArrayList<>(List.of("authorization", "x-api-key"));
      settings.ownerHeaders().forEach(name -> owners.add(name.toLowerCase(Locale.ROOT)));
      return new Names(settings.sessionHeader().toLowerCase(Locale.ROOT), List.copyOf(owners));
    }
  }

  public Conversations(AffinitySettings settings) {
    names = Names.of(settings);
  }

  /** Uses other headers for later requests. */
  public void use(AffinitySettings settings) {
    names = Names.of(settings);
  }

  /**
   * The conversation of a request. Null if it names none, or if its route's next prompt cannot be
   * derived from its answer.
   */
  @Nullable Conversation of(ClientExchange request, SplitFacts facts) {
    Names present = names;
    String named = request.request().head().first(present.session);
    if (named == null || named.isBlank() || facts.endpoint() != PdEndpoint.CHAT) {
      return null;
    }
    RequestFacts read = request.request().facts();
    return new Conversation(
        named, owner(request.request().head(), present.owners), read.model(), read.prefix());
  }

  /** Digest of the caller's headers, so API keys are not stored. */
  private static String owner(RequestHeaders headers, List<String> owners) {
    MessageDigest digest = sha256();
    for (String name : owners) {
      String value = headers.first(name);
      if (value != null) {
        digest.update((name + ":" + value.length() + ":" + value).getBytes(UTF_8));
      }
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
