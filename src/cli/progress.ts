/** A line on stderr that says what is being waited for, when somebody is looking and it takes a while. */

/** ms before a wait is worth a line. */
const PATIENCE = 500;

export async function whileWaiting<T>(text: string, work: Promise<T>): Promise<T> {
  if (process.stderr.isTTY !== true) return work;
  const timer = setTimeout(() => void announce(text), PATIENCE);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

export function whileStarting<T>(server: string, work: Promise<T>): Promise<T> {
  return whileWaiting(`starting ${server}`, work);
}

async function announce(text: string): Promise<void> {
  const { createConsola } = await import('consola/basic');
  createConsola({ stdout: process.stderr, stderr: process.stderr, throttle: 0 }).start(`${text} …`);
}
