package io.pointsman.pd.plan;

import java.time.Duration;

/**
 * Notifications to await between prefill and decode, in addition to the prefill response. They may
 * arrive before that response, so the receiver must listen before it sends the prefill request.
 *
 * @param id the id in the notifications
 * @param notifications their number; at least 1
 * @param atMost longest wait after the prefill response
 */
public record NotificationWait(String id, int notifications, Duration atMost) {}
