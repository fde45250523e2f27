package io.pointsman.engine.fleet;

/** A source of workers that the router itself follows. */
public enum WorkerSource {
  /** The list of workers in the configuration. */
  CONFIGURATION,
  /** The addresses of names in the configured list. */
  NAMES,
  /** A file with workers. */
  FILE,
  /** Names with one worker for each address or SRV record. */
  DNS,
  /** Objects of a Kubernetes cluster. */
  KUBERNETES
}
