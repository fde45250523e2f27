package io.pointsman.pd.peer;

import io.pointsman.engine.fleet.Worker;

/** Parts of a worker's URL. */
public final class Address {
  private Address() {}

  /** The host: a name or an address; IPv6 without brackets. */
  public static String host(Worker worker) {
    String authority = authority(worker);
    if (authority.startsWith("[")) {
      return authority.substring(1, authority.indexOf(']'));
    }
    int colon = authority.indexOf(':');
    return colon < 0 ? authority : authority.substring(0, colon);
  }

  /** Host and port, as in the URL. */
  public static String authority(Worker worker) {
    String url = worker.spec().url();
    int from = url.indexOf("://") + 3;
    int slash = url.indexOf('/', from);
    return url.substring(from, slash < 0 ? url.length() : slash);
  }

  /** The host in the form used before a port; IPv6 in brackets. */
  public static String urlHost(Worker worker) {
    String host = host(worker);
    return host.indexOf(':') < 0 ? host : "[" + host + "]";
  }
}
