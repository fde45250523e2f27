/** Text to token ids and back, the chat template, and the words the engine answers with. */
@NullMarked
package io.pointsman.sim.text;

import org.jspecify.annotations.NullMarked;
