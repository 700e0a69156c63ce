/** Counts unanswered requests in both directions, approximately: a cancelled request may still be answered. */
import { isRequest, isResponse, type Message } from './message.ts';

export class InFlightCount {
  /** Number of our requests without a response. */
  ours = 0;
  /** Number of the peer's requests without a response. */
  theirs = 0;

  sent(message: Message): void {
    if (isRequest(message)) this.ours += 1;
    else if (isResponse(message)) this.theirs = less(this.theirs);
    else if (isCancellation(message)) this.ours = less(this.ours);
  }

  received(message: Message): void {
    if (isRequest(message)) this.theirs += 1;
    else if (isResponse(message)) this.answered();
    else if (isCancellation(message)) this.theirs = less(this.theirs);
  }

  /** Counts a response to one of our requests. */
  answered(): void {
    this.ours = less(this.ours);
  }

  /** Returns true if the message just sent is the only one in flight, so that there is nothing to batch it with. */
  isLone(message: Message): boolean {
    if (this.theirs > 0) return false;
    return isRequest(message) ? this.ours === 1 : this.ours === 0 && isResponse(message);
  }
}

function less(count: number): number {
  return count > 0 ? count - 1 : 0;
}

function isCancellation(message: Message): boolean {
  return 'method' in message && message.method === 'notifications/cancelled';
}
