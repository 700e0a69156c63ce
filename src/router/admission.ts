/** What stands between a call that fits and its server: confirmation, and how many run at once. */
import type { Tool } from '../catalog/list.ts';
import type { Settings } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import type { Gate } from '../policy/limits.ts';
import { isReadOnly } from '../render/tool-hints.ts';
import { type Asking, confirmed } from './confirm.ts';
import { reasonOf } from './failures.ts';

export interface Admission {
  /** Undefined where nobody has to be asked; rejects with `refused`. */
  confirm(call: Asking, tool: Tool, args: unknown): Promise<void> | undefined;
  /** Throws `overloaded` where too many calls run; whoever got in leaves once. */
  enter(): void;
  leave(): void;
}

export interface AdmissionOptions {
  policy: Pick<Settings['policy'], 'confirm'>;
  /** Calls of all profiles together. */
  gate: Gate;
}

export function createAdmission({ policy, gate }: AdmissionOptions): Admission {
  // Looked at for each call: the config may change while it runs.
  const asks = () => policy.confirm === 'destructive';
  return {
    confirm: (call, tool, args) => (asks() && !isReadOnly(tool.annotations) ? confirmed(call, tool, args) : undefined),
    enter() {
      if (gate.enter()) return;
      throw new McpxError('overloaded', `${gate.limit} calls are under way already`, {
        hint: 'try again in a moment; "limits.concurrentCalls" in the config is the bound',
      });
    },
    leave: gate.leave,
  };
}

/** For a router without rules of its own. */
export const ADMIT_ALL: Admission = { confirm: () => undefined, enter: () => undefined, leave: () => undefined };

/** Ends the record of a call that is held back. */
type Refused = (outcome: 'refused', end: { reason: string }) => void;

/** Waits for whoever was asked. */
export async function settled(asked: Promise<void>, record: Refused): Promise<void> {
  try {
    await asked;
  } catch (error) {
    record('refused', { reason: reasonOf(error) });
    throw error;
  }
}

/** Lets a call in, which has to leave; throws where there is no room. */
export function enter(admission: Pick<Admission, 'enter'>, record: Refused): void {
  try {
    admission.enter();
  } catch (error) {
    record('refused', { reason: reasonOf(error) });
    throw error;
  }
}
