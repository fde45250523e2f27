/** Policies that hash a session or a prompt to a worker. */
@NullMarked
package io.pointsman.engine.policy.hash;

import org.jspecify.annotations.NullMarked;
