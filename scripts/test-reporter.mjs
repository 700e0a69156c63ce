/** A reporter for vitest: the JSON report in the file that MCPX_TEST_REPORT names, without a line on the terminal. */
import { writeFileSync } from 'node:fs';
import { JsonReporter } from 'vitest/node';

export default class extends JsonReporter {
  async writeReport(report) {
    writeFileSync(process.env.MCPX_TEST_REPORT, report);
  }
}
