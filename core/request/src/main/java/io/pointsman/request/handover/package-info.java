/** Fields of requests by which a client could control hand-overs between engines. */
@NullMarked
package io.pointsman.request.handover;

import org.jspecify.annotations.NullMarked;
