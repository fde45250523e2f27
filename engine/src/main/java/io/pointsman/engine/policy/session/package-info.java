/** Sticky sessions: the table and the policy over it. */
@NullMarked
package io.pointsman.engine.policy.session;

import org.jspecify.annotations.NullMarked;
