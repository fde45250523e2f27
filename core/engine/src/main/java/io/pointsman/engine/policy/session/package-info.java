/** Sticky sessions: the table and the policies over it. */
@NullMarked
package io.pointsman.engine.policy.session;

import org.jspecify.annotations.NullMarked;
