/** Prefill and decode on two workers: how it is configured, and who tells what of the engines. */
@NullMarked
package io.pointsman.app.disagg;

import org.jspecify.annotations.NullMarked;
