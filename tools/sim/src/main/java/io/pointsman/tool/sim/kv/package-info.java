/**
 * KV transfer between prefill and decode: roles, options, blocks reserved for others, and errors in
 * requests.
 */
@NullMarked
package io.pointsman.tool.sim.kv;

import org.jspecify.annotations.NullMarked;
