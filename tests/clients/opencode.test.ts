/** OpenCode, the shipped program, with a scripted model: what the model is shown of mcpx. */
import { describeClient } from './journey.ts';
import { openCode } from './programs.ts';

describeClient(openCode);
