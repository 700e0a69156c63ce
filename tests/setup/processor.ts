/** The work that something takes. */

/** Processor time of this process so far, in ms. Other programs on the machine do not make it longer, so it tells too much work from a busy machine. */
export function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
