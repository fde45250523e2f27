/**
 * HAProxy as the proxy for this router: its configuration, its servers, the ends of its streams.
 */
@NullMarked
package io.pointsman.plane.haproxy;

import org.jspecify.annotations.NullMarked;
