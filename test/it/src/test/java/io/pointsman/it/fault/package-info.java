/**
 * Injected faults, one row of {@code docs/evidence/faults.md} each. After every row the same check
 * verifies that no resource is left.
 */
@NullMarked
package io.pointsman.it.fault;

import org.jspecify.annotations.NullMarked;
