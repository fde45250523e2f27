/** Answers that the router creates itself. */
@NullMarked
package io.pointsman.proxy.reply;

import org.jspecify.annotations.NullMarked;
