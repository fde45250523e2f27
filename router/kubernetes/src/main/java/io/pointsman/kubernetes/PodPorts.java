package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServicePort;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointPort;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSlice;
import io.pointsman.config.settings.KubernetesSettings;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The ports of engines in an object. Each is a worker. One thread. */
final class PodPorts {
  private static final Logger log = LoggerFactory.getLogger(PodPorts.class);

  /** Maximum number of objects with a logged missing port. */
  private static final int MOST_LOGGED = 1000;

  private final int usual;
  private final List<String> wanted;
  private final Set<String> logged = new HashSet<>();

  PodPorts(KubernetesSettings settings) {
    usual = settings.port();
    wanted = settings.ports();
  }

  /** True if the port is a part of a worker's id. */
  boolean several() {
    return wanted.size() > 1;
  }

  List<Integer> of(Pod pod) {
    Map<String, Integer> named = new HashMap<>();
    if (pod.getSpec() != null) {
      for (Container container : pod.getSpec().getContainers()) {
        for (ContainerPort port : container.getPorts()) {
          if (port.getName() != null && port.getContainerPort() != null) {
            named.putIfAbsent(port.getName(), port.getContainerPort());
          }
        }
      }
    }
    return wanted.isEmpty() ? List.of(usual) : found("pod " + pod.getMetadata().getName(), named);
  }

  List<Integer> of(Service service) {
    Map<String, Integer> named = new HashMap<>();
    if (service.getSpec() != null) {
      for (ServicePort port : service.getSpec().getPorts()) {
        if (port.getName() != null) {
          named.putIfAbsent(port.getName(), port.getPort());
        }
      }
    }
    return wanted.isEmpty()
        ? List.of(usual)
        : found("service " + service.getMetadata().getName(), named);
  }

  /** Without wanted ports, the only port of the slice, or the usual one. */
  List<Integer> of(EndpointSlice slice) {
    Map<String, Integer> named = new HashMap<>();
    List<Integer> all = new ArrayList<>();
    if (slice.getPorts() == null && wanted.isEmpty()) {
      return List.of(usual); // null stands for all ports
    }
    for (EndpointPort port : orNone(slice.getPorts())) {
      if (port.getPort() != null) {
        all.add(port.getPort());
        named.putIfAbsent(port.getName() == null ? "" : port.getName(), port.getPort());
      }
    }
    String name = "endpoint slice " + slice.getMetadata().getName();
    if (!wanted.isEmpty()) {
      return found(name, named);
    }
    if (all.size() == 1) {
      return all;
    }
    if (all.contains(usual)) {
      return List.of(usual);
    }
    missing(name, Integer.toString(usual));
    return List.of();
  }

  private static List<EndpointPort> orNone(@Nullable List<EndpointPort> ports) {
    return ports == null ? List.of() : ports;
  }

  private List<Integer> found(String object, Map<String, Integer> named) {
    List<Integer> ports = new ArrayList<>();
    for (String each : wanted) {
      Integer port = each.matches("\\d+") ? number(each) : named.get(each);
      if (port == null) {
        missing(object, each);
      } else if (!ports.contains(port)) {
        ports.add(port);
      }
    }
    return ports;
  }

  private static Integer number(String text) {
    return Integer.valueOf(text);
  }

  private void missing(String object, String port) {
    if (logged.size() < MOST_LOGGED && logged.add(object + " " + port)) {
      log.warn(
          "{} has no port {} (kubernetes.port, kubernetes.ports); no worker there", object, port);
    }
  }
}
