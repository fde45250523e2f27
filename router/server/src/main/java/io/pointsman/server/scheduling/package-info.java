/**
 * Changes of the system's scheduling for the router: naps of event loops, their time slices, the
 * niceness of compiler threads, and large pages. One key switches all of them.
 */
@NullMarked
package io.pointsman.server.scheduling;

import org.jspecify.annotations.NullMarked;
