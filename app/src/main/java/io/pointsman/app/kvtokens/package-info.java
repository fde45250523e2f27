/** Token ids of prompts that came as text, queried from engines beside the traffic. */
@NullMarked
package io.pointsman.app.kvtokens;

import org.jspecify.annotations.NullMarked;
