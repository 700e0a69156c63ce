/** How much goes on in a conversation: requests without an answer, in both directions. Roughly, as one that is given up may still be answered. */
import { isRequest, isResponse, type Message } from './message.ts';

export class Traffic {
  /** Our requests. */
  ours = 0;
  /** Those of the far side. */
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

  /** One of ours was answered. */
  answered(): void {
    this.ours = less(this.ours);
  }

  /** Whether a request or an answer that was just sent is all there is: nothing can follow it that it could wait for. */
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
