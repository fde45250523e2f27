package io.pointsman.tool.sim.kv.protocol;

import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.protocol.Task.SideChannel;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The two addresses inside a request id.
 *
 * @param field the field that contained the id
 * @param prefill as the prefill engine registered it
 * @param decode as the decode engine registered it
 */
record AddressPair(String field, String prefill, String decode) {
  private static final Pattern ID =
      Pattern.compile("___prefill_addr_(.+)___decode_addr_(.+)_([0-9a-zA-Z-]+)");
  private static final Pattern PLAIN = Pattern.compile("(.+):([0-9]{1,5})");
  private static final Pattern PARTS =
      Pattern.compile("host:(.+),handshake:([0-9]{1,5}),notify:([0-9]{1,5})");

  static AddressPair of(KvRequest request) {
    Matcher id = ID.matcher(request.requestId());
    if (!id.find()) {
      String found = request.requestId().isEmpty() ? "missing" : request.requestId();
      throw FieldError.wrong(request.idField(), found, "___prefill_addr_..___decode_addr_.._<id>");
    }
    return new AddressPair(request.idField(), id.group(1), id.group(2));
  }

  /** Checks that an address is this engine's own. */
  void own(String side, String address, String own) {
    if (!address.equals(own)) {
      throw FieldError.wrong(field, side + " " + address, own);
    }
  }

  /** Parses an address. */
  SideChannel peer(String address) {
    Matcher parts = PARTS.matcher(address);
    if (parts.matches()) {
      return new SideChannel(parts.group(1), Integer.parseInt(parts.group(2)), field);
    }
    Matcher plain = PLAIN.matcher(address);
    if (!plain.matches()) {
      throw FieldError.wrong(field, address, "an address with its port");
    }
    return new SideChannel(plain.group(1), Integer.parseInt(plain.group(2)), field);
  }
}
