/**
 * Prefill and decode apart: roles, options, blocks held for others, and what requests got wrong.
 */
@NullMarked
package io.pointsman.sim.kv;

import org.jspecify.annotations.NullMarked;
