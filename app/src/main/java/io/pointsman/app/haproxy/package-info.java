/** HAProxy as a plane of this router: its configuration, its fleet, the end of its streams. */
@NullMarked
package io.pointsman.app.haproxy;

import org.jspecify.annotations.NullMarked;
