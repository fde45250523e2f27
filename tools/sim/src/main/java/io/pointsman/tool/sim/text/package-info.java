/** Conversion between text and token ids, the chat template, and the words of responses. */
@NullMarked
package io.pointsman.tool.sim.text;

import org.jspecify.annotations.NullMarked;
