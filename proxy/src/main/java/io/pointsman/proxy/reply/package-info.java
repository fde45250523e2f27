/** Answers that the router makes itself. */
@NullMarked
package io.pointsman.proxy.reply;

import org.jspecify.annotations.NullMarked;
