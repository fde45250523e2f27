/** The content of a request: endpoint, model, routing key and identity, read from its bytes. */
@NullMarked
package io.pointsman.request;

import org.jspecify.annotations.NullMarked;
