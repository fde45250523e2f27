/** The run of a router that records classes for the launcher's cache. */
@NullMarked
package io.pointsman.server.training;

import org.jspecify.annotations.NullMarked;
