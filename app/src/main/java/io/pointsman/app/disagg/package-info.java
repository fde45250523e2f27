/** Configuration of prefill and decode on separate workers. */
@NullMarked
package io.pointsman.app.disagg;

import org.jspecify.annotations.NullMarked;
