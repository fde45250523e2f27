/**
 * Faults in engines under load, for minutes: what clients see of them, and whether anything grows.
 */
@NullMarked
package io.pointsman.bench.chaos;

import org.jspecify.annotations.NullMarked;
