/**
 * Faults that are really injected, one row of {@code docs/evidence/faults.md} each; after every row
 * the same check of what must be left behind: nothing.
 */
@NullMarked
package io.pointsman.it.fault;

import org.jspecify.annotations.NullMarked;
