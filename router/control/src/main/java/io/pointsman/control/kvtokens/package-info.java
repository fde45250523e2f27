/** Token ids of prompts that came as text, queried from engines beside the traffic. */
@NullMarked
package io.pointsman.control.kvtokens;

import org.jspecify.annotations.NullMarked;
