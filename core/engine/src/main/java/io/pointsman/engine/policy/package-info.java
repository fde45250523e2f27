/** The interfaces of policies and the simple policies, one file each. */
@NullMarked
package io.pointsman.engine.policy;

import org.jspecify.annotations.NullMarked;
