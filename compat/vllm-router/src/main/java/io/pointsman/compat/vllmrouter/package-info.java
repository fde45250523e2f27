/**
 * Launchers with the command lines of other routers. Each translates flags into this router's
 * configuration and refuses unsupported flags with the reason.
 */
@NullMarked
package io.pointsman.compat.vllmrouter;

import org.jspecify.annotations.NullMarked;
