/** Claude Code, the shipped program, with a scripted model: what the model is shown of mcpx. */
import { describeClient } from './journey.ts';
import { claudeCode } from './programs.ts';

describeClient(claudeCode);
