/** Discovery of workers as pods of a Kubernetes cluster. */
@NullMarked
package io.pointsman.kubernetes;

import org.jspecify.annotations.NullMarked;
