/**
 * Launchers that speak other routers' command lines: each translates flags into the one
 * configuration, and refuses what cannot be honoured with the reason.
 */
@NullMarked
package io.pointsman.app.compat;

import org.jspecify.annotations.NullMarked;
