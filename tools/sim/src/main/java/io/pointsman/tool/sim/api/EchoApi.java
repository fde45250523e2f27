package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;

/** {@code /echo/...}: returns the received request, so tests can check the fidelity of proxies. */
final class EchoApi {
  private EchoApi() {}

  static void handle(SimExchange exchange) {
    ObjectNode root = SimJson.object();
    root.put("method", exchange.method()).put("path", exchange.path());
    root.put("query", exchange.rawQuery()).put("uri", exchange.uri());
    ObjectNode headers = root.putObject("headers");
    for (Map.Entry<String, String> header : exchange.headers()) {
      headers.withArray(header.getKey()).add(header.getValue());
    }
    root.put("body_length", exchange.body().length);
    root.put("body_sha256", sha256(exchange.body()));
    exchange.respond(200, root);
  }

  private static String sha256(byte[] body) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(body));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("SHA-256: missing in this JDK", e);
    }
  }
}
